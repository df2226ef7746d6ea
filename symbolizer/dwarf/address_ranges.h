/* The address ranges of an entry: low_pc and high_pc, or a list in a section of its own. */
#ifndef SPROF_ADDRESS_RANGES_H
#define SPROF_ADDRESS_RANGES_H

#include "symbolizer/dwarf/dwarf_file.h"

struct dwarf_range {
	uint64_t lo, hi; /* [lo, hi), never empty */
};

struct dwarf_range_list {
	struct dwarf_range *ranges;
	size_t nr, capacity;
};

/* The attributes that say where the code of an entry is, collected while the entry is read. */
struct dwarf_extent {
	struct dwarf_value low, high, ranges;
};

void dwarf_extent_take(struct dwarf_extent *extent, uint16_t name, const struct dwarf_value *v);

/*
 * Replaces the list with the ranges of the entry; it is empty where the entry has no code. The
 * unit's root must have been read. Ranges that the linker discarded (address 0, -1 or -2) are left
 * out.
 */
void dwarf_extent_ranges(const struct dwarf_unit *unit, const struct dwarf_extent *extent,
			 struct dwarf_range_list *list);

#endif
