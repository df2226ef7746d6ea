/*
 * The table of symbol sources. Each is defined in the file that has its name, some in a room of
 * their own: go/ and runtime/.
 */
#ifndef SPROF_SYMBOL_SOURCES_H
#define SPROF_SYMBOL_SOURCES_H

#include "symbolizer/go/go_source.h"
#include "symbolizer/lookup/symbol_source.h"
#include "symbolizer/runtime/runtime_sources.h"

extern const struct symbol_source kernel_source, kallsyms_source;
extern const struct symbol_source dwarf_source, symtab_source, debugdata_source, dynsym_source,
	plt_source, fde_source;

/* Best first; ends with NULL. */
extern const struct symbol_source *const symbol_sources[];

#endif
