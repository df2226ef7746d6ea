/* What the caller of the symbolizer chooses; every field may be zero. */
#ifndef SPROF_SYMBOLIZER_OPTS_H
#define SPROF_SYMBOLIZER_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod;

struct symbolizer_opts {
	/*
	 * Opens the file of a MODULE_ELF module: a readable descriptor that the symbolizer closes,
	 * or -errno. At record time the recorder hands out the file it pinned when the mapping
	 * appeared, so a deleted or replaced binary still has its names. NULL: open by path and
	 * accept the file only if its build-id (or, without one, device and inode) is the recorded
	 * one.
	 */
	int (*open_module)(void *context, uint32_t module);
	/*
	 * Names a kernel address: 0 and a NUL-terminated name, or -ENOENT. NULL: /proc/kallsyms is
	 * read.
	 */
	int (*kernel_symbol)(void *context, uint64_t address, char *name, size_t size);
	void *context;
	bool no_inlines; /* function names only: no DWARF is read */
	/* Recorded on another machine, or before it booted: what is in no file has no names here. */
	bool elsewhere;
	const char *debug_dir; /* where separate debug files lie; NULL: /usr/lib/debug */
	/*
	 * Asked for the debug files of modules that have a hundredth of the addresses at least, and
	 * no debug file here; NULL: nobody is asked. debuginfod.h.
	 */
	struct debuginfod *debuginfod;
};

#endif
