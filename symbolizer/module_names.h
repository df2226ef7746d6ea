/* Names the frames of one module of a profile. */
#ifndef SPROF_MODULE_NAMES_H
#define SPROF_MODULE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct symbol_module;

/* A frame to name. */
struct wanted_name {
	uint32_t module, frame;
	uint64_t address; /* ELF: the file offset, and later the link-time address */
};

/* By module, then by address; for qsort(3). */
int wanted_name_compare(const void *a, const void *b);

/*
 * Names the frames in `wants`, which are sorted by address and are changed. Module `id` of the
 * profile has been opened as `module`. Returns how many frames got a name.
 */
size_t module_names_find(struct profile *p, uint32_t id, struct symbol_module *module,
			 struct wanted_name *wants, size_t nr);

#endif
