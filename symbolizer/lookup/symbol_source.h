/*
 * What a symbol source works on and what it must offer: the module being symbolized, and the vtable
 * of sources.
 *
 * Addresses are those of a source's tables: frames of ELF modules have been translated from file
 * offsets to link-time addresses; kernel and runtime code addresses are as sampled.
 */
#ifndef SPROF_SYMBOL_SOURCE_H
#define SPROF_SYMBOL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/elf_file.h"
#include "core/profile/profile.h"
#include "symbolizer/lookup/symbol_chain.h"
#include "symbolizer/lookup/symbolizer_opts.h"

/* One module while it is symbolized. symbolizer.c owns everything in it. */
struct symbol_module {
	const struct symbolizer_opts *opts;
	enum module_kind kind;
	const char *path;
	/*
	 * MODULE_ELF: the root directory in which `path` and the paths inside the file have a
	 * meaning; -1 where it is gone.
	 */
	int root;
	int own_root;		   /* the root directory of this process */
	uint32_t pid;		   /* MODULE_JIT */
	bool matters;		   /* it has enough addresses to ask servers for its debug file */
	const uint64_t *addresses; /* sorted, unique: all that will be looked up */
	size_t nr_addresses;
	struct elf_image *image; /* the mapped file; NULL for kernel and runtime code */
	struct elf_image *debug; /* its separate debug file, or NULL */
	char *debug_path;
	int debug_root; /* where debug_path lies: root or own_root */
};

struct symbol_source {
	const char *name;
	unsigned kinds; /* 1 << MODULE_X for each kind of module that it serves */
	/*
	 * Its answers have lines and inlined functions, but symbol tables may have a better name of
	 * the outermost function (parts of functions, clones): the search goes on for that name.
	 */
	bool has_inlines;
	/*
	 * Returns the source's state for this module, or NULL where it knows nothing of the module.
	 */
	void *(*open)(const struct symbol_module *module);
	/*
	 * Appends the functions at the address to an empty chain. Returns false where it knows
	 * none.
	 */
	bool (*lookup)(void *state, uint64_t address, struct symbol_chain *chain);
	/*
	 * Finds where the function at an address begins and ends. Returns false where that is not
	 * known. NULL hook: the source knows no extents.
	 */
	bool (*extent)(void *state, uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
	void (*close)(void *state);
};

#endif
