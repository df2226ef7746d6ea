/*
 * Asks the kernel for the names of its functions one by one, through the source that took the
 * samples: a few thousand addresses cost less than reading the 5 MB of /proc/kallsyms.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "symbolizer/lookup/string_pool.h"
#include "symbolizer/symbol_sources.h"

#define NAME_SIZE_MAX 512

struct kernel_source {
	const struct symbolizer_opts *opts;
	struct string_pool names;
};

static void *source_open(const struct symbol_module *module)
{
	struct kernel_source *s;

	if (!module->opts->kernel_symbol)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->opts = module->opts;
	return s;
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	struct kernel_source *s = state;
	char name[NAME_SIZE_MAX];

	if (s->opts->kernel_symbol(s->opts->context, address, name, sizeof(name)))
		return false;
	symbol_chain_add(chain)->name = string_pool_add(&s->names, name);
	return true;
}

static void source_close(void *state)
{
	struct kernel_source *s = state;

	string_pool_fini(&s->names);
	free(s);
}

const struct symbol_source kernel_source = {
	.name = "kernel",
	.kinds = 1u << MODULE_KERNEL,
	.open = source_open,
	.lookup = source_lookup,
	.close = source_close,
};
