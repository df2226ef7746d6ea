/*
 * Reads .debug_ranges (DWARF 2 to 4) and .debug_rnglists (DWARF 5). A range is relative to a base
 * address that entries of the list may change.
 */
#include "symbolizer/dwarf/address_ranges.h"

#include <dwarf.h>

#include "core/base/alloc.h"

#define ENTRY_COST 16

void dwarf_extent_take(struct dwarf_extent *extent, uint16_t name, const struct dwarf_value *v)
{
	switch (name) {
	case DW_AT_low_pc: extent->low = *v; break;
	case DW_AT_high_pc: extent->high = *v; break;
	case DW_AT_ranges: extent->ranges = *v; break;
	}
}

/* Linkers mark discarded code with address 0 (plus an offset), -1 or -2. */
static void add_range(struct dwarf_range_list *list, uint64_t base, uint64_t lo, uint64_t hi)
{
	if (lo >= hi || lo == 0 || base >= UINT64_MAX - 1 || lo >= UINT64_MAX - 1)
		return;
	list->ranges = xgrow(list->ranges, &list->capacity, list->nr + 1, sizeof(*list->ranges));
	list->ranges[list->nr++] = (struct dwarf_range){ lo, hi };
}

static void read_old_list(const struct dwarf_unit *unit, uint64_t offset,
			  struct dwarf_range_list *list)
{
	struct cursor c = dwarf_cursor(unit->file, DWARF_RANGES, offset);
	uint64_t base = unit->low_pc;

	while (!c.bad && dwarf_charge(unit->file, ENTRY_COST)) {
		uint64_t lo = cursor_u64(&c), hi = cursor_u64(&c);

		if (!lo && !hi)
			break;
		if (lo == UINT64_MAX)
			base = hi;
		else
			add_range(list, base, base + lo, base + hi);
	}
}

static void read_list(const struct dwarf_unit *unit, uint64_t offset, struct dwarf_range_list *list)
{
	struct cursor c = dwarf_cursor(unit->file, DWARF_RNGLISTS, offset);
	uint64_t base = unit->low_pc, a, b;

	while (!c.bad && dwarf_charge(unit->file, ENTRY_COST)) {
		switch (cursor_u8(&c)) {
		case DW_RLE_base_addressx:
			base = dwarf_indexed_address(unit, cursor_uleb(&c));
			break;
		case DW_RLE_base_address: base = cursor_u64(&c); break;
		case DW_RLE_startx_endx:
			a = dwarf_indexed_address(unit, cursor_uleb(&c));
			b = dwarf_indexed_address(unit, cursor_uleb(&c));
			add_range(list, a, a, b);
			break;
		case DW_RLE_startx_length:
			a = dwarf_indexed_address(unit, cursor_uleb(&c));
			b = cursor_uleb(&c);
			add_range(list, a, a, a + b);
			break;
		case DW_RLE_offset_pair:
			a = cursor_uleb(&c);
			b = cursor_uleb(&c);
			add_range(list, base, base + a, base + b);
			break;
		case DW_RLE_start_end:
			a = cursor_u64(&c);
			b = cursor_u64(&c);
			add_range(list, a, a, b);
			break;
		case DW_RLE_start_length:
			a = cursor_u64(&c);
			b = cursor_uleb(&c);
			add_range(list, a, a, a + b);
			break;
		default: return; /* DW_RLE_end_of_list */
		}
	}
}

/*
 * Reads a list that is given by its number: the unit's table has its offset, relative to the table.
 */
static void read_indexed_list(const struct dwarf_unit *unit, uint64_t index,
			      struct dwarf_range_list *list)
{
	struct cursor c;
	uint64_t offset;

	if (index > unit->file->sections[DWARF_RNGLISTS].size / 4)
		return;
	c = dwarf_cursor(unit->file, DWARF_RNGLISTS,
			 unit->rnglists_base + index * unit->offset_size);
	offset = cursor_fixed(&c, unit->offset_size);
	if (!c.bad)
		read_list(unit, unit->rnglists_base + offset, list);
}

void dwarf_extent_ranges(const struct dwarf_unit *unit, const struct dwarf_extent *extent,
			 struct dwarf_range_list *list)
{
	const struct dwarf_value *low = &extent->low, *high = &extent->high;
	const struct dwarf_value *ranges = &extent->ranges;

	list->nr = 0;
	if (ranges->class == DWARF_RANGES_INDEX)
		read_indexed_list(unit, ranges->number, list);
	else if (ranges->class != DWARF_NOTHING && unit->version >= 5)
		read_list(unit, ranges->number, list);
	else if (ranges->class != DWARF_NOTHING)
		read_old_list(unit, unit->ranges_base + ranges->number, list);
	else if (low->class == DWARF_ADDRESS && high->class == DWARF_ADDRESS)
		add_range(list, low->number, low->number, high->number);
	else if (low->class == DWARF_ADDRESS && high->class == DWARF_CONSTANT)
		add_range(list, low->number, low->number, low->number + high->number);
}
