/*
 * Sources that know a runtime or the kernel come first; of those that read ELF files, the more
 * precise come before the cheaper. An address goes to the first source that knows it.
 */
#include "symbolizer/symbol_sources.h"

#include <stddef.h>

const struct symbol_source *const symbol_sources[] = {
	&jitdump_source, &perf_map_source, &kernel_source, &kallsyms_source,
	&dwarf_source,	 &go_source,	   &symtab_source, &debugdata_source,
	&dynsym_source,	 &plt_source,	   &fde_source,	   NULL,
};
