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

struct debug_root;

/*
 * Opens files for a process that may open none itself (core/sandbox). Both return a descriptor,
 * which is the caller's, or -errno.
 */
struct file_broker {
	int (*open)(const struct file_broker *broker, const struct debug_root *root,
		    const char *path);
	/* Asks servers for the debug file with that build-id. */
	int (*fetch)(const struct file_broker *broker, const uint8_t *id, size_t size);
};

/* A directory in which paths of debug files have a meaning. */
struct debug_root {
	int fd;				  /* -1: it is gone */
	const struct file_broker *broker; /* opens files there; NULL: this process does */
	bool is_own;			  /* the root directory of the recorder */
};

/* One module while it is symbolized. symbolizer.c owns everything in it. */
struct symbol_module {
	const struct symbolizer_opts *opts;
	enum module_kind kind;
	const char *path;
	/*
	 * MODULE_ELF: the root directory in which the paths inside the file have a meaning, and the
	 * module's path there.
	 */
	struct debug_root root;
	const char *path_in_root;
	struct debug_root own_root;  /* the root directory of this process */
	uint32_t pid;		     /* MODULE_JIT */
	int jitdump_fd, perf_map_fd; /* MODULE_JIT: the source that reads it closes it; or -errno */
	bool matters;		     /* it has enough addresses to ask servers for its debug file */
	const uint64_t *addresses;   /* sorted, unique: all that will be looked up */
	size_t nr_addresses;
	struct elf_image *image; /* the mapped file; NULL for kernel and runtime code */
	struct elf_image *debug; /* its separate debug file, or NULL */
	char *debug_path;
	const struct debug_root *debug_root; /* where debug_path lies: root or own_root */
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
