/*
 * The ranges of all units, sorted, from their root entries. .debug_aranges would have them too, but
 * not every compiler writes it.
 */
#include "symbolizer/dwarf/unit_index.h"

#include <dwarf.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "symbolizer/dwarf/address_ranges.h"

#define UNITS_BACK 8 /* units hardly ever overlap; the number of earlier units to try */

static int compare_ranges(const void *a, const void *b)
{
	const struct dwarf_index_range *x = a, *y = b;

	return ORDER(x->lo, y->lo) ?: ORDER(y->hi, x->hi) ?: ORDER(x->unit, y->unit);
}

/* Reads from the root entry where the code of the unit is. */
static void root_ranges(struct dwarf_unit *unit, struct dwarf_range_list *list)
{
	const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(unit);
	struct cursor c = dwarf_unit_cursor(unit, unit->entries);
	struct dwarf_extent extent = { 0 };
	const struct dwarf_abbrev *abbrev;

	abbrev = abbrevs ? dwarf_abbrev_find(abbrevs, cursor_uleb(&c)) : NULL;
	for (uint32_t i = 0; abbrev && i < abbrev->nr_attributes; i++) {
		const struct dwarf_attribute *a = &abbrevs->attributes[abbrev->first_attribute + i];
		struct dwarf_value v = dwarf_attribute_read(unit, &c, a);

		dwarf_extent_take(&extent, a->name, &v);
	}
	dwarf_extent_ranges(unit, &extent, list);
}

static void add_unit(struct dwarf_index *index, struct dwarf_unit *unit,
		     const struct dwarf_range_list *list)
{
	if (!list->nr) {
		index->unknown = xgrow(index->unknown, &index->unknown_capacity,
				       index->nr_unknown + 1, sizeof(*index->unknown));
		index->unknown[index->nr_unknown++] = unit;
		return;
	}
	index->ranges = xgrow(index->ranges, &index->capacity, index->nr + list->nr,
			      sizeof(*index->ranges));
	for (size_t i = 0; i < list->nr; i++)
		index->ranges[index->nr++] = (struct dwarf_index_range){
			.lo = list->ranges[i].lo,
			.hi = list->ranges[i].hi,
			.unit = unit,
		};
}

void dwarf_index_init(struct dwarf_index *index, struct dwarf_file *file)
{
	struct dwarf_range_list list = { 0 };

	*index = (struct dwarf_index){ 0 };
	for (size_t i = 0; i < file->nr_units; i++) {
		struct dwarf_unit *unit = &file->units[i];

		if (unit->type != DW_UT_compile && unit->type != DW_UT_skeleton)
			continue;
		if (!dwarf_unit_load_root(unit))
			continue;
		root_ranges(unit, &list);
		add_unit(index, unit, &list);
	}
	free(list.ranges);
	if (index->nr)
		qsort(index->ranges, index->nr, sizeof(*index->ranges), compare_ranges);
}

void dwarf_index_fini(struct dwarf_index *index)
{
	free(index->ranges);
	free(index->unknown);
}

struct dwarf_unit *dwarf_index_find(const struct dwarf_index *index, uint64_t vaddr)
{
	size_t at = SEARCH(i, index->nr, index->ranges[i].lo <= vaddr);

	for (int i = 0; i < UNITS_BACK && at; i++) {
		if (vaddr < index->ranges[--at].hi)
			return index->ranges[at].unit;
	}
	return NULL;
}
