/*
 * What the parts of the symbolizer agree on: a module being symbolized, a source of symbols, and
 * the answer to "where is this address": a chain of functions.
 *
 * Addresses here are what a source's tables speak of: an ELF module's frames have been translated
 * from file offsets to link-time virtual addresses; kernel and JIT addresses are as sampled.
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

/* One module while it is symbolized. Everything belongs to symbolizer.c. */
struct symbol_module {
	const struct symbolizer_opts *opts;
	enum module_kind kind;
	const char *path;
	uint32_t pid;		   /* MODULE_JIT */
	bool matters;		   /* has enough addresses to ask servers for its debug file */
	const uint64_t *addresses; /* sorted, unique: all that will be looked up */
	size_t nr_addresses;
	struct elf_image *image; /* the mapped file itself; NULL for kernel and JIT */
	struct elf_image *debug; /* its separate debug file, or NULL */
	char *debug_path;
};

struct symbol_source {
	const char *name;
	unsigned kinds; /* 1 << MODULE_X of each kind of module it can serve */
	/*
	 * The answer has lines and inlined functions, but symbol tables may know the outermost one
	 * better (parts of functions, clones); the search goes on for that one name.
	 */
	bool has_inlines;
	/* Returns the source's state for this module, or NULL where it has nothing to say. */
	void *(*open)(const struct symbol_module *module);
	/* Appends what it knows of the address to an empty chain; false = nothing. */
	bool (*lookup)(void *state, uint64_t address, struct symbol_chain *chain);
	/*
	 * Where the function at an address begins, and where what follows it does; false = not known
	 * here. NULL where the source knows no extents.
	 */
	bool (*extent)(void *state, uint64_t address, uint64_t *ret_start, uint64_t *ret_end);
	void (*close)(void *state);
};

#endif
