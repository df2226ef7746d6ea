/* The chain of symbol sources, best first. */
#include "symbolizer/symbol_source.h"

#include "core/base/alloc.h"

const struct symbol_source *const symbol_sources[] = {
	&jitdump_source,
	&perf_map_source,
	&kernel_source,
	&kallsyms_source,
	&dwarf_source,
	&symtab_source,
	&debugdata_source,
	&dynsym_source,
	&plt_source,
	&fde_source,
	NULL,
};

struct symbol_frame *symbol_chain_add(struct symbol_chain *chain)
{
	struct symbol_frame *frame;

	chain->frames =
		xgrow(chain->frames, &chain->capacity, chain->nr + 1, sizeof(*chain->frames));
	frame = &chain->frames[chain->nr++];
	*frame = (struct symbol_frame){ 0 };
	return frame;
}
