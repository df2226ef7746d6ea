/*
 * One pass over the entries of a unit. A function comes before the functions inlined into it, so
 * each address takes the last and deepest function that covers it.
 */
#include "symbolizer/dwarf/subprograms.h"

#include <dwarf.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "symbolizer/dwarf/address_ranges.h"

#define LEVEL_MAX 1000 /* compilers stop after some tens */

/* An entry whose children are being read. */
struct open_function {
	uint32_t depth;
	uint32_t function; /* DWARF_NO_FUNCTION: it covers no address that was asked for */
};

struct pass {
	struct dwarf_unit *unit;
	const struct dwarf_abbrevs *abbrevs;
	struct dwarf_functions *out;
	const struct address_set *at;
	struct open_function *stack;
	size_t nr_open, stack_capacity;
	struct dwarf_range_list list;
};

static bool covers_an_address(const struct pass *p)
{
	for (size_t i = 0; i < p->list.nr; i++) {
		size_t first = address_set_find(p->at, p->list.ranges[i].lo);

		if (first < p->at->nr && p->at->addresses[first] < p->list.ranges[i].hi)
			return true;
	}
	return false;
}

static uint16_t level_of(const struct pass *p, uint32_t function)
{
	return function == DWARF_NO_FUNCTION ? 0 : p->out->functions[function].level;
}

/* Gives the addresses inside the ranges to the function, unless a deeper function has them. */
static void claim(struct pass *p, uint32_t function)
{
	uint16_t level = level_of(p, function);

	for (size_t i = 0; i < p->list.nr; i++) {
		size_t first = address_set_find(p->at, p->list.ranges[i].lo), at = first;

		for (; at < p->at->nr && p->at->addresses[at] < p->list.ranges[i].hi; at++) {
			uint32_t *innermost = &p->out->innermost[at];

			if (level >= level_of(p, *innermost))
				*innermost = function;
		}
		dwarf_charge(p->unit->file, at - first);
	}
}

static uint32_t add_function(struct pass *p, const struct dwarf_function *f)
{
	struct dwarf_functions *out = p->out;

	out->functions =
		xgrow(out->functions, &out->capacity, out->nr + 1, sizeof(*out->functions));
	out->functions[out->nr] = *f;
	if (f->parent != DWARF_NO_FUNCTION)
		out->functions[out->nr].level = out->functions[f->parent].level + 1;
	return (uint32_t)out->nr++;
}

/*
 * Reads from an entry where the code is (into p->list), where it was inlined, and which other entry
 * describes it, if only that one does.
 */
static void read_code(struct pass *p, struct cursor *c, const struct dwarf_abbrev *abbrev,
		      struct dwarf_function *f)
{
	const struct dwarf_attribute *a = &p->abbrevs->attributes[abbrev->first_attribute];
	struct dwarf_extent extent = { 0 };
	bool describes_itself = false;

	for (uint32_t i = 0; i < abbrev->nr_attributes; i++) {
		struct dwarf_value v;

		switch (a[i].name) {
		case DW_AT_low_pc:
		case DW_AT_high_pc:
		case DW_AT_ranges:
			v = dwarf_attribute_read(p->unit, c, &a[i]);
			dwarf_extent_take(&extent, a[i].name, &v);
			break;
		case DW_AT_call_file:
			f->call_file = (uint32_t)dwarf_attribute_read(p->unit, c, &a[i]).number;
			break;
		case DW_AT_call_line:
			f->call_line = (uint32_t)dwarf_attribute_read(p->unit, c, &a[i]).number;
			break;
		case DW_AT_abstract_origin:
		case DW_AT_specification:
			v = dwarf_attribute_read(p->unit, c, &a[i]);
			f->origin = v.class == DWARF_REFERENCE ? v.number : 0;
			break;
		case DW_AT_name:
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
		case DW_AT_decl_file:
		case DW_AT_decl_line: describes_itself = true; /* fallthrough */
		default: dwarf_attribute_skip(p->unit, c, &a[i]);
		}
	}
	if (describes_itself)
		f->origin = 0;
	dwarf_extent_ranges(p->unit, &extent, &p->list);
}

/*
 * Reads the entry of a function. A declaration or an abstract copy has no code and is skipped.
 * Functions inlined into a function that covers none of the addresses are skipped unread.
 */
static void read_function(struct pass *p, struct cursor *c, uint64_t entry,
			  const struct dwarf_abbrev *abbrev, uint32_t depth)
{
	bool inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	uint32_t function = DWARF_NO_FUNCTION;
	struct dwarf_function f = {
		.entry = entry,
		.parent = DWARF_NO_FUNCTION,
		.call_file = UINT32_MAX,
	};

	if (inlined && p->nr_open) {
		f.parent = p->stack[p->nr_open - 1].function;
		if (f.parent == DWARF_NO_FUNCTION || level_of(p, f.parent) >= LEVEL_MAX) {
			dwarf_attributes_skip(p->unit, c, p->abbrevs, abbrev);
			return;
		}
	}
	read_code(p, c, abbrev, &f);
	if (c->bad || !p->list.nr)
		return;
	if (covers_an_address(p)) {
		function = add_function(p, &f);
		claim(p, function);
	}
	if (!abbrev->has_children)
		return;
	p->stack = xgrow(p->stack, &p->stack_capacity, p->nr_open + 1, sizeof(*p->stack));
	p->stack[p->nr_open++] = (struct open_function){ depth, function };
}

static void read_entries(struct pass *p)
{
	struct cursor c = dwarf_unit_cursor(p->unit, p->unit->entries);
	const uint8_t *start = c.at;
	uint32_t depth = 0;

	while (!c.bad && cursor_left(&c)) {
		uint64_t entry = p->unit->entries + (uint64_t)(c.at - start);
		uint64_t code = cursor_uleb(&c);
		const struct dwarf_abbrev *abbrev;

		if (!code) {
			if (depth <= 1)
				break;
			depth--;
			continue;
		}
		abbrev = dwarf_abbrev_find(p->abbrevs, code);
		if (!abbrev)
			break;
		while (p->nr_open && p->stack[p->nr_open - 1].depth >= depth)
			p->nr_open--;
		if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine)
			read_function(p, &c, entry, abbrev, depth);
		else
			dwarf_attributes_skip(p->unit, &c, p->abbrevs, abbrev);
		if (abbrev->has_children)
			depth++;
		else if (!depth)
			break;
	}
}

void dwarf_functions_find(struct dwarf_functions *functions, struct dwarf_unit *unit,
			  const struct address_set *at)
{
	struct pass p = {
		.unit = unit,
		.abbrevs = dwarf_unit_abbrevs(unit),
		.out = functions,
		.at = at,
	};

	functions->nr = 0;
	functions->innermost = xgrow(functions->innermost, &functions->innermost_capacity, at->nr,
				     sizeof(*functions->innermost));
	for (size_t i = 0; i < at->nr; i++)
		functions->innermost[i] = DWARF_NO_FUNCTION;
	if (p.abbrevs && dwarf_charge(unit->file, unit->end - unit->offset))
		read_entries(&p);
	free(p.stack);
	free(p.list.ranges);
}

void dwarf_functions_fini(struct dwarf_functions *functions)
{
	free(functions->functions);
	free(functions->innermost);
}
