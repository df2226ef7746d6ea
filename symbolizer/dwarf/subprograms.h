/*
 * Finds which functions of a unit lie at given addresses, and into which others they were inlined.
 * One pass over the entries answers for all addresses of the unit, and only the answers are kept; a
 * walk up the tree for each address would scan the unit again and again.
 */
#ifndef SPROF_SUBPROGRAMS_H
#define SPROF_SUBPROGRAMS_H

#include "symbolizer/lookup/address_set.h"
#include "symbolizer/dwarf/dwarf_file.h"

#define DWARF_NO_FUNCTION UINT32_MAX

/* One piece of a function with code: compiled by itself, or inlined at one place. */
struct dwarf_function {
	uint64_t entry;	 /* offset of its DIE in .debug_info */
	uint32_t parent; /* inlined: index of the enclosing function; else DWARF_NO_FUNCTION */
	uint32_t call_file, call_line; /* where it was inlined; the file is a number of the unit */
	uint64_t origin;	       /* the entry that describes it; 0: its own entry does */
	uint16_t level;		       /* number of functions around it */
};

/* What a function is called and where it is declared. */
struct dwarf_description {
	uint64_t entry;
	const char *name; /* linkage name or plain name; NULL = it has none */
	const char *file; /* NULL = unknown */
	uint32_t line;
	bool is_linkage_name;
};

struct dwarf_functions {
	struct dwarf_function *functions; /* functions that cover one of the addresses */
	uint32_t *innermost;		  /* for each address, or DWARF_NO_FUNCTION */
	size_t nr, capacity, innermost_capacity;
};

/* Replaces the content with the functions at the addresses `at`. The unit must be loaded. */
void dwarf_functions_find(struct dwarf_functions *functions, struct dwarf_unit *unit,
			  const struct address_set *at);
void dwarf_functions_fini(struct dwarf_functions *functions);

/*
 * Returns the description of a function, which is read once for all places where it was inlined.
 * Valid until the next call; its strings live as long as the file.
 */
const struct dwarf_description *dwarf_function_describe(struct dwarf_unit *unit,
							const struct dwarf_function *function);

#endif
