/* Options of the symbolizer. Zero is a valid value for every field. */
#ifndef SPROF_SYMBOLIZER_OPTS_H
#define SPROF_SYMBOLIZER_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;
struct sandbox;

struct symbolizer_opts {
	/*
	 * Opens the file of a MODULE_ELF module: returns a readable descriptor, which the
	 * symbolizer closes, or -errno. The recorder gives the file that it opened when the mapping
	 * appeared, so a deleted or replaced binary still has its names. NULL: the file is opened
	 * by path and accepted only with the recorded build-id or, where there is none, the
	 * recorded device and inode.
	 */
	int (*open_module)(void *context, uint32_t module);
	/*
	 * Opens the root directory in which the paths of a MODULE_ELF module have a meaning, which
	 * the symbolizer closes: its debug files are looked up there and nowhere above. The first
	 * *ret_prefix bytes of the module's path lead to it (0: the path begins there). -errno
	 * where that root is gone: then only debug_dir is searched, by build-id. NULL: it is the
	 * root of this process.
	 */
	int (*open_root)(void *context, uint32_t module, size_t *ret_prefix);
	/*
	 * Names a kernel address: 0 and a NUL-terminated name, or -ENOENT. NULL: /proc/kallsyms is
	 * read.
	 */
	int (*kernel_symbol)(void *context, uint64_t address, char *name, size_t size);
	/* Leaves the frames of a module unnamed: it is named elsewhere. NULL: of no module. */
	bool (*skip_module)(void *context, uint32_t module);
	void *context;
	bool no_inlines; /* function names only: DWARF is not read */
	/*
	 * Names addresses near those of the profile, too, in the same functions of ELF files: they
	 * become frames of a module that begins_runs, one for each run of addresses with the same
	 * names; a frame without a name ends a run. Only done with a sandbox.
	 */
	bool with_runs;
	/*
	 * The profile was recorded on another machine or before this boot: only files have names
	 * here.
	 */
	bool elsewhere;
	const char *debug_dir; /* where separate debug files lie; NULL: /usr/lib/debug */
	/*
	 * Servers to ask for the debug files of modules that have at least 1/100 of the addresses
	 * and no debug file here; NULL: none. See debuginfod.h.
	 */
	struct debuginfod *debuginfod;
	/* Where files of targets are parsed; NULL: in this process. */
	const struct sandbox *sandbox;
	/*
	 * How long such a child may take, in ms, beside what the bytes of its files allow, and how
	 * long all those together that read files of other users. 0: see names_budget.h.
	 */
	uint32_t file_ms, others_ms;
};

#endif
