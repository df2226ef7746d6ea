/* Finds the unit of an address, from the ranges in the root entries of all units. */
#ifndef SPROF_UNIT_INDEX_H
#define SPROF_UNIT_INDEX_H

#include "symbolizer/dwarf/dwarf_file.h"

struct dwarf_index_range {
	uint64_t lo, hi;
	struct dwarf_unit *unit;
};

struct dwarf_index {
	struct dwarf_index_range *ranges; /* by lo */
	size_t nr, capacity;
	/* Units whose root does not say where their code is; every address may be in them. */
	struct dwarf_unit **unknown;
	size_t nr_unknown, unknown_capacity;
};

void dwarf_index_init(struct dwarf_index *index, struct dwarf_file *file);
void dwarf_index_fini(struct dwarf_index *index);

/* Returns the unit that has code at vaddr by its ranges, or NULL. */
struct dwarf_unit *dwarf_index_find(const struct dwarf_index *index, uint64_t vaddr);

#endif
