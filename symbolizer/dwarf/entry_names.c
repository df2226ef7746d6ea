/*
 * Finds what a function is called and where it is declared. The entry that has the code often says
 * neither: it refers to an abstract copy (abstract_origin), and that to the declaration
 * (specification), perhaps in another unit or in dwz's shared file.
 */
#include <dwarf.h>

#include "core/base/alloc.h"
#include "symbolizer/dwarf/subprograms.h"
#include "symbolizer/dwarf/source_lines.h"

#define REFERENCES_MAX 8 /* two or three are usual; in a hostile file they may form a ring */
#define ENTRY_COST 64

struct description {
	const char *name, *linkage_name;
	const char *file;
	uint32_t line;
	bool has_file, has_line;
	struct dwarf_value next; /* a reference to the entry with the rest */
};

static void take_name(const char **name, struct dwarf_unit *unit, const char *s)
{
	if (!*name && s && s[0])
		*name = dwarf_unit_keep(unit, s);
}

static void take_attribute(struct description *d, struct dwarf_unit *unit, uint16_t name,
			   const struct dwarf_value *v)
{
	struct dwarf_lines *lines;

	switch (name) {
	case DW_AT_name: take_name(&d->name, unit, v->string); break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: take_name(&d->linkage_name, unit, v->string); break;
	case DW_AT_decl_file:
		if (d->has_file)
			break;
		/* The number is that of a file of this unit, wherever the chain began. */
		lines = dwarf_unit_lines(unit);
		d->file = lines ? dwarf_lines_path(lines, v->number) : NULL;
		d->has_file = true;
		break;
	case DW_AT_decl_line:
		if (!d->has_line)
			d->line = (uint32_t)v->number;
		d->has_line = true;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification: d->next = *v; break;
	}
}

static bool read_entry(struct description *d, struct dwarf_unit *unit, uint64_t entry)
{
	const struct dwarf_abbrevs *abbrevs;
	const struct dwarf_abbrev *abbrev;
	struct cursor c;

	d->next.class = DWARF_NOTHING;
	if (!dwarf_unit_load(unit) || !dwarf_charge(unit->file, ENTRY_COST))
		return false;
	abbrevs = dwarf_unit_abbrevs(unit);
	c = dwarf_unit_cursor(unit, entry);
	abbrev = dwarf_abbrev_find(abbrevs, cursor_uleb(&c));
	if (!abbrev)
		return false;
	for (uint32_t i = 0; i < abbrev->nr_attributes && !c.bad; i++) {
		const struct dwarf_attribute *a = &abbrevs->attributes[abbrev->first_attribute + i];
		struct dwarf_value v = dwarf_attribute_read(unit, &c, a);

		if (!c.bad)
			take_attribute(d, unit, a->name, &v);
	}
	return !c.bad;
}

/* Returns the unit that a reference from an entry of `unit` leads to, or NULL. */
static struct dwarf_unit *unit_of(struct dwarf_unit *unit, const struct dwarf_value *reference)
{
	struct dwarf_file *file = unit->file;
	uint64_t entry = reference->number;

	if (reference->class == DWARF_REFERENCE_ALT)
		return file->alt ? dwarf_unit_at(file->alt, entry) : NULL;
	if (reference->class != DWARF_REFERENCE)
		return NULL;
	if (entry >= unit->entries && entry < unit->end)
		return unit;
	/* This unit must stay in memory beside the other. */
	return dwarf_file_load_info(file) ? dwarf_unit_at(file, entry) : NULL;
}

/* Follows the references from the entry of `unit` until name and place are known. */
static void read_description(struct dwarf_unit *unit, uint64_t entry,
			     struct dwarf_description *ret_description)
{
	struct description d = { 0 };

	for (int i = 0; i < REFERENCES_MAX && unit && read_entry(&d, unit, entry); i++) {
		unit = unit_of(unit, &d.next);
		entry = d.next.number;
	}
	ret_description->is_linkage_name = d.linkage_name;
	ret_description->name = d.linkage_name ? d.linkage_name : d.name;
	ret_description->file = d.file;
	ret_description->line = d.line;
}

static bool description_equal(const void *owner, uint32_t id, const void *key)
{
	const struct dwarf_file *file = owner;

	return file->descriptions[id].entry == *(const uint64_t *)key;
}

const struct dwarf_description *dwarf_function_describe(struct dwarf_unit *unit,
							const struct dwarf_function *function)
{
	uint64_t entry = function->origin ? function->origin : function->entry;
	struct dwarf_file *file = unit->file;
	struct dwarf_description *d;
	uint32_t next = (uint32_t)file->nr_descriptions, id;

	id = intern_id(&file->description_index, (uint32_t)(entry * 0x9e3779b97f4a7c15u >> 32),
		       next, description_equal, file, &entry);
	if (id == next) {
		struct dwarf_value origin = { .class = DWARF_REFERENCE, .number = entry };

		file->descriptions = xgrow(file->descriptions, &file->descriptions_capacity,
					   file->nr_descriptions + 1, sizeof(*file->descriptions));
		d = &file->descriptions[file->nr_descriptions++];
		*d = (struct dwarf_description){ .entry = entry };
		read_description(unit_of(unit, &origin), entry, d);
	}
	return &file->descriptions[id];
}
