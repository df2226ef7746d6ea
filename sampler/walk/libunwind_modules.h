/*
 * The modules that libunwind walks through: their segments and functions, read when first needed,
 * and a small cache of their bytes. Callers name a module by a number (struct snapshot_mapping).
 */
#ifndef SPROF_LIBUNWIND_MODULES_H
#define SPROF_LIBUNWIND_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/walk/snapshot_unwind.h"

struct libunwind_modules;

/* The module and mapping that an address lies in. */
struct snapshot_place {
	const struct libunwind_module *module;
	uint64_t key;	     /* the caller's number of the module */
	uint64_t bias;	     /* address - ELF virtual address */
	uint64_t start, end; /* of the mapping, which has this bias */
	bool over_limit;     /* of the mapping */
};

struct libunwind_modules *libunwind_modules_new(const struct snapshot_ops *ops, void *context);
void libunwind_modules_free(struct libunwind_modules *modules);
/* How many modules were looked into. */
size_t libunwind_modules_nr(const struct libunwind_modules *modules);
/* Frees what is known of a module. */
void libunwind_modules_forget(struct libunwind_modules *modules, uint64_t key);

/*
 * The place of an address. false: in no known mapping. Its module is NULL where the mapping has no
 * file or one that is not ELF.
 */
bool libunwind_modules_find(struct libunwind_modules *modules, uint64_t address,
			    struct snapshot_place *ret);

/* The FDE that covers a virtual address of a module. */
struct snapshot_fde {
	uint64_t start, end; /* virtual addresses of the function */
	uint64_t vaddr;	     /* of the FDE itself */
};
bool libunwind_module_fde(const struct libunwind_module *module, uint64_t vaddr,
			  struct snapshot_fde *ret);

/* The 8 bytes that the file has at an aligned virtual address; beyond its end they are 0. */
bool libunwind_modules_read(struct libunwind_modules *modules,
			    const struct libunwind_module *module, uint64_t vaddr, uint64_t *ret);

#endif
