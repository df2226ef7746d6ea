/* Opens the file behind a module of the profile, and its separate debug file. */
#ifndef SPROF_SYMBOL_MODULE_H
#define SPROF_SYMBOL_MODULE_H

#include "symbolizer/lookup/symbol_source.h"

/*
 * Fills `ret_module` for module `id` of the profile; the caller sets the addresses. 0, or -errno
 * where the file cannot be read or is not the one that was sampled. `matters`: the debug file may
 * be fetched from a server.
 */
int symbol_module_init(struct symbol_module *ret_module, const struct profile *p, uint32_t id,
		       bool matters, const struct symbolizer_opts *opts);
/* The files of a module, opened by a process that may open files. */
struct handed_files {
	uint32_t module;
	int fds[2];    /* MODULE_ELF: the file; MODULE_JIT: jitdump and perf map; or negative */
	bool is_kept;  /* the file was kept open since it was mapped, so it is the right one */
	size_t prefix; /* length of the part of the module's path that leads to its root */
	const struct file_broker *broker;
};

/* The same in a process that may open no files. Takes over the descriptors. */
int symbol_module_init_handed(struct symbol_module *ret_module, const struct profile *p,
			      bool matters, const struct symbolizer_opts *opts,
			      const struct handed_files *files);
/* Opens the file of a MODULE_ELF module. A descriptor or -errno. */
int symbol_module_open(const struct profile *p, uint32_t id, const struct symbolizer_opts *opts,
		       bool *ret_is_kept);
/*
 * Opens the root directory in which its paths have a meaning. A descriptor or -errno. *ret_prefix:
 * the length of the part of the module's path that leads to it.
 */
int symbol_module_root(uint32_t id, const struct symbolizer_opts *opts, size_t *ret_prefix);
void symbol_module_fini(struct symbol_module *module);

#endif
