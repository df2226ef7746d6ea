/* The chain of symbol sources, best first. */
#include "symbolizer/symbol_sources.h"

#include <stddef.h>

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
