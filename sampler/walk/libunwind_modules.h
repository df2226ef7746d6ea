/*
 * What the offline unwinder knows of the files that samples run in: their segments and the list of
 * their functions, read when first needed, and a small cache of their bytes.
 */
#ifndef SPROF_LIBUNWIND_MODULES_H
#define SPROF_LIBUNWIND_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/walk/snapshot_unwind.h"

struct libunwind_modules;

/* An address of the sample, as a place in a module. */
struct snapshot_place {
	const struct libunwind_module *module;
	uint64_t key;	     /* as the caller names the module */
	uint64_t bias;	     /* address - ELF virtual address */
	uint64_t start, end; /* the mapping; the bias holds in all of it */
};

struct libunwind_modules *libunwind_modules_new(const struct snapshot_ops *ops, void *context);
void libunwind_modules_free(struct libunwind_modules *modules);

/*
 * The place of an address, in *ret. false: no mapping is known there. module is NULL where the
 * mapping has no file, or one that is not ELF.
 */
bool libunwind_modules_find(struct libunwind_modules *modules, uint64_t address,
			    struct snapshot_place *ret);

/* The FDE that covers a virtual address, in the loaded module's terms. */
struct snapshot_fde {
	uint64_t start, end; /* virtual addresses of the function */
	uint64_t vaddr;	     /* of the FDE itself */
};
bool libunwind_module_fde(const struct libunwind_module *module, uint64_t vaddr,
			  struct snapshot_fde *ret);

/* The 8 bytes the file has at an aligned virtual address; the bytes beyond its end are 0. */
bool libunwind_modules_read(struct libunwind_modules *modules,
			    const struct libunwind_module *module, uint64_t vaddr, uint64_t *ret);

#endif
