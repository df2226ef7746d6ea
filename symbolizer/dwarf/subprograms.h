/*
 * Which functions of a unit lie at given addresses, and into which others they were inlined. All
 * addresses of the unit are answered by one pass over its entries, so nothing is kept but the
 * answers; a walk up the tree for each address would scan the unit again and again.
 */
#ifndef SPROF_SUBPROGRAMS_H
#define SPROF_SUBPROGRAMS_H

#include "symbolizer/lookup/address_set.h"
#include "symbolizer/dwarf/dwarf_file.h"

#define DWARF_NO_FUNCTION UINT32_MAX

/* One function that has code here: compiled for itself, or inlined at one place. */
struct dwarf_function {
	uint64_t entry;	 /* its DIE's offset in .debug_info */
	uint32_t parent; /* inlined: index of the function around it; else DWARF_NO_FUNCTION */
	uint32_t call_file, call_line; /* inlined: where; the file is a number of the unit's */
	uint64_t origin;	       /* the entry that describes it; 0: its own */
	uint16_t level;		       /* how many functions it is inlined into */
};

/* What a function is called and where it is declared. */
struct dwarf_description {
	uint64_t entry;
	const char *name; /* linkage name or plain name; NULL = has none */
	const char *file; /* NULL = unknown */
	uint32_t line;
	bool is_linkage_name;
};

struct dwarf_functions {
	struct dwarf_function *functions; /* those that cover one of the addresses */
	uint32_t *innermost;		  /* of each address; or DWARF_NO_FUNCTION */
	size_t nr, capacity, innermost_capacity;
};

/* Replaces the content by the functions at the addresses `at`. The unit is loaded. */
void dwarf_functions_find(struct dwarf_functions *functions, struct dwarf_unit *unit,
			  const struct address_set *at);
void dwarf_functions_fini(struct dwarf_functions *functions);

/*
 * The description of a function, which is read once for all places where it was inlined. Valid until
 * the next is asked for; its strings live as long as the file.
 */
const struct dwarf_description *dwarf_function_describe(struct dwarf_unit *unit,
							const struct dwarf_function *function);

#endif
