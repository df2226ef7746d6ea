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
void symbol_module_fini(struct symbol_module *module);

#endif
