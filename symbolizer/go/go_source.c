/*
 * Names, lines and inlined functions of Go programs, from the table that the runtime needs for its
 * own tracebacks, so that a stripped program has them too. A name of a generic function has "[...]"
 * in place of its type arguments; a symbol table knows them.
 */
#include "symbolizer/go/go_source.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "symbolizer/go/go_program.h"

#define INLINED_MAX 64 /* the compiler's budget for inlining allows fewer */

struct source {
	struct go_program program;
	bool names_only;
};

static void *source_open(const struct symbol_module *module)
{
	struct source *s = xcalloc(1, sizeof(*s));

	if (!go_program_open(module->image, &s->program)) {
		go_program_close(&s->program);
		free(s);
		return NULL;
	}
	s->names_only = module->opts->no_inlines;
	return s;
}

static void add_frame(struct source *s, const struct pclntab_function *f, uint64_t address,
		      const char *name, uint32_t declared_line, struct symbol_chain *chain)
{
	struct symbol_frame *frame = symbol_chain_add(chain);

	frame->name = name;
	if (!pclntab_position(&s->program.table, f, address, &frame->file, &frame->line))
		return;
	frame->declared_file = frame->file;
	frame->declared_line = declared_line;
}

static void reverse(struct symbol_chain *chain)
{
	for (size_t i = 0, j = chain->nr; i + 1 < j; i++) {
		struct symbol_frame frame = chain->frames[i];

		chain->frames[i] = chain->frames[--j];
		chain->frames[j] = frame;
	}
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	struct source *s = state;
	struct pclntab *table = &s->program.table;
	struct pclntab_function f;
	struct pclntab_call call;
	uint64_t pc = address;

	if (!pclntab_find(table, address, &f))
		return false;
	if (s->names_only) {
		symbol_chain_add(chain)->name = f.name;
		return true;
	}
	for (int i = 0; i < INLINED_MAX && pclntab_inlined_call(table, &f, pc, &call); i++) {
		add_frame(s, &f, pc, call.name, call.line, chain);
		pc = call.caller_pc;
	}
	if (pclntab_is_inlined(table, &f, pc)) /* the line is of a function that is not known */
		symbol_chain_add(chain)->name = f.name;
	else
		add_frame(s, &f, pc, f.name, f.line, chain);
	/* The rest of the chain of sources may know type arguments, but no better name. */
	chain->frames[chain->nr - 1].is_linkage_name = !strstr(f.name, "[...]");
	reverse(chain);
	return true;
}

static bool source_extent(void *state, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct source *s = state;
	struct pclntab_function f;

	if (!pclntab_find(&s->program.table, address, &f))
		return false;
	*ret_start = f.start;
	*ret_end = f.end;
	return true;
}

static void source_close(void *state)
{
	struct source *s = state;

	go_program_close(&s->program);
	free(s);
}

const struct symbol_source go_source = {
	.name = ".gopclntab",
	.kinds = 1u << MODULE_ELF,
	.has_inlines = true,
	.open = source_open,
	.lookup = source_lookup,
	.extent = source_extent,
	.close = source_close,
};
