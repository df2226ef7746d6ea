/*
 * Abbreviation tables, which say how entries are laid out, and the attributes of entries. A table
 * is parsed once; an attribute whose form has a fixed size keeps it, so that most entries are
 * skipped without being read.
 */
#include "symbolizer/dwarf/dwarf_file.h"

#include <dwarf.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"

#define ABBREV_SIZE_MAX (256u << 20) /* of the section, which has many tables */
#define TABLE_SIZE_MAX (4u << 20)    /* of a parsed table, which takes eight times its bytes */

/* Returns the bytes of a form in an entry, or DWARF_VARIES. */
static uint8_t form_size(const struct dwarf_unit *unit, uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const: return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1: return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2: return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3: return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4: return 4;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8: return 8;
	case DW_FORM_data16: return 16;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_sec_offset: return unit->offset_size;
	case DW_FORM_ref_addr: return unit->version == 2 ? 8 : unit->offset_size;
	}
	return DWARF_VARIES;
}

static size_t table_bytes(const struct dwarf_abbrevs *t)
{
	return t->nr * sizeof(*t->abbrevs) + t->nr_attributes * sizeof(*t->attributes);
}

static void parse_attributes(struct dwarf_abbrevs *t, struct dwarf_abbrev *abbrev, size_t *capacity,
			     const struct dwarf_unit *unit, struct cursor *c)
{
	uint64_t total = 0;

	abbrev->first_attribute = (uint32_t)t->nr_attributes;
	while (!c->bad) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct dwarf_attribute *a;

		if ((!name && !form) || table_bytes(t) > TABLE_SIZE_MAX)
			break;
		t->attributes = xgrow(t->attributes, capacity, t->nr_attributes + 1,
				      sizeof(*t->attributes));
		a = &t->attributes[t->nr_attributes++];
		a->name = name > UINT16_MAX ? 0 : (uint16_t)name;
		a->form = form > UINT16_MAX ? 0 : (uint16_t)form;
		a->size = form_size(unit, form);
		a->implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
		total = a->size == DWARF_VARIES || total == DWARF_NO_SIZE ? DWARF_NO_SIZE
									  : total + a->size;
	}
	abbrev->nr_attributes = (uint32_t)t->nr_attributes - abbrev->first_attribute;
	abbrev->fixed_size = total < DWARF_NO_SIZE ? (uint32_t)total : DWARF_NO_SIZE;
}

static int compare_abbrevs(const void *a, const void *b)
{
	const struct dwarf_abbrev *x = a, *y = b;

	return ORDER(x->code, y->code);
}

static struct dwarf_abbrevs *abbrevs_parse(const struct dwarf_unit *unit)
{
	struct cursor c = dwarf_cursor(unit->file, DWARF_ABBREV, unit->abbrev_offset);
	struct dwarf_abbrevs *t = xcalloc(1, sizeof(*t));
	size_t capacity = 0, attributes_capacity = 0;

	t->dense = true;
	/* Never NULL: an entry without attributes points at the end of the array. */
	t->attributes = xgrow(NULL, &attributes_capacity, 1, sizeof(*t->attributes));
	for (;;) {
		uint64_t code = cursor_uleb(&c), tag;
		struct dwarf_abbrev *abbrev;

		if (c.bad || !code || table_bytes(t) > TABLE_SIZE_MAX)
			break;
		t->abbrevs = xgrow(t->abbrevs, &capacity, t->nr + 1, sizeof(*t->abbrevs));
		abbrev = &t->abbrevs[t->nr++];
		tag = cursor_uleb(&c);
		abbrev->code = code;
		abbrev->tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
		abbrev->has_children = cursor_u8(&c) != 0;
		parse_attributes(t, abbrev, &attributes_capacity, unit, &c);
		t->dense &= code == t->nr;
	}
	if (!t->dense)
		qsort(t->abbrevs, t->nr, sizeof(*t->abbrevs), compare_abbrevs);
	return t;
}

/* Sizes of forms depend on the unit, and units of different kinds may share a table. */
static uint64_t abbrevs_key(const struct dwarf_unit *unit)
{
	return unit->abbrev_offset << 2 | (uint64_t)(unit->offset_size == 8) << 1 |
	       (unit->version == 2);
}

static bool abbrevs_equal(const void *owner, uint32_t id, const void *key)
{
	const struct dwarf_file *file = owner;

	return file->abbrev_tables[id]->key == *(const uint64_t *)key;
}

const struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_unit *unit)
{
	struct dwarf_file *file = unit->file;
	uint64_t key = abbrevs_key(unit);
	struct dwarf_abbrevs *t;
	uint32_t next = (uint32_t)file->nr_abbrev_tables, id;

	if (unit->abbrevs)
		return unit->abbrevs;
	if (unit->abbrev_offset >= file->sections[DWARF_ABBREV].size ||
	    file->sections[DWARF_ABBREV].size > ABBREV_SIZE_MAX || !file->budget)
		return NULL;
	id = intern_id(&file->abbrev_index, (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32), next,
		       abbrevs_equal, file, &key);
	if (id == next) {
		t = abbrevs_parse(unit);
		t->key = key;
		file->abbrev_tables =
			xgrow(file->abbrev_tables, &file->abbrev_tables_capacity,
			      file->nr_abbrev_tables + 1, sizeof(*file->abbrev_tables));
		file->abbrev_tables[file->nr_abbrev_tables++] = t;
		dwarf_charge(file, (t->nr_attributes + t->nr) * sizeof(struct dwarf_attribute));
	}
	unit->abbrevs = file->abbrev_tables[id];
	return unit->abbrevs;
}

static void abbrevs_free(struct dwarf_abbrevs *abbrevs)
{
	free(abbrevs->abbrevs);
	free(abbrevs->attributes);
	free(abbrevs);
}

void dwarf_abbrevs_free_all(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->nr_abbrev_tables; i++)
		abbrevs_free(file->abbrev_tables[i]);
	file->nr_abbrev_tables = 0;
	intern_fini(&file->abbrev_index);
	file->abbrev_index = (struct intern){ 0 };
}

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code)
{
	size_t lo = 0, hi = t->nr;

	if (t->dense)
		return code - 1 < t->nr ? &t->abbrevs[code - 1] : NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->abbrevs[mid].code == code)
			return &t->abbrevs[mid];
		if (t->abbrevs[mid].code < code)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

uint64_t dwarf_indexed_address(const struct dwarf_unit *unit, uint64_t index)
{
	struct cursor c;

	if (index > unit->file->sections[DWARF_ADDR].size / 8)
		return 0;
	c = dwarf_cursor(unit->file, DWARF_ADDR, unit->addr_base + index * 8);
	return cursor_u64(&c);
}

static const char *indexed_string(const struct dwarf_unit *unit, uint64_t index)
{
	struct cursor c;
	uint64_t offset;

	if (index > unit->file->sections[DWARF_STR_OFFSETS].size / 4)
		return NULL;
	c = dwarf_cursor(unit->file, DWARF_STR_OFFSETS,
			 unit->str_offsets_base + index * unit->offset_size);
	offset = cursor_fixed(&c, unit->offset_size);
	return c.bad ? NULL : dwarf_string(unit->file, DWARF_STR, offset);
}

static struct dwarf_value value_of(enum dwarf_class class, uint64_t number)
{
	return (struct dwarf_value){ .class = class, .number = number };
}

static struct dwarf_value string_of(const char *s)
{
	return (struct dwarf_value){ .class = s ? DWARF_STRING : DWARF_NOTHING, .string = s };
}

static struct dwarf_value read_string(const struct dwarf_unit *unit, struct cursor *c,
				      uint64_t form)
{
	const struct dwarf_file *file = unit->file;

	switch (form) {
	case DW_FORM_string: return string_of(cursor_string(c));
	case DW_FORM_strp:
		return string_of(dwarf_string(file, DWARF_STR, cursor_fixed(c, unit->offset_size)));
	case DW_FORM_line_strp:
		return string_of(
			dwarf_string(file, DWARF_LINE_STR, cursor_fixed(c, unit->offset_size)));
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index: return string_of(indexed_string(unit, cursor_uleb(c)));
	case DW_FORM_strx1: return string_of(indexed_string(unit, cursor_fixed(c, 1)));
	case DW_FORM_strx2: return string_of(indexed_string(unit, cursor_fixed(c, 2)));
	case DW_FORM_strx3: return string_of(indexed_string(unit, cursor_fixed(c, 3)));
	case DW_FORM_strx4: return string_of(indexed_string(unit, cursor_fixed(c, 4)));
	default: { /* DW_FORM_GNU_strp_alt, DW_FORM_strp_sup */
		uint64_t offset = cursor_fixed(c, unit->offset_size);

		return string_of(file->alt ? dwarf_string(file->alt, DWARF_STR, offset) : NULL);
	}
	}
}

static struct dwarf_value read_reference(const struct dwarf_unit *unit, struct cursor *c,
					 uint64_t form)
{
	switch (form) {
	case DW_FORM_ref_addr:
		return value_of(DWARF_REFERENCE, cursor_fixed(c, form_size(unit, form)));
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return value_of(DWARF_REFERENCE_ALT, cursor_fixed(c, form_size(unit, form)));
	case DW_FORM_ref_udata: return value_of(DWARF_REFERENCE, unit->offset + cursor_uleb(c));
	default: /* DW_FORM_ref1, 2, 4, 8 */
		return value_of(DWARF_REFERENCE,
				unit->offset + cursor_fixed(c, form_size(unit, form)));
	}
}

static struct dwarf_value skip_block(struct cursor *c, uint64_t size)
{
	cursor_skip(c, size);
	return value_of(DWARF_NOTHING, 0);
}

static struct dwarf_value read_form(const struct dwarf_unit *unit, struct cursor *c, uint64_t form,
				    int64_t implicit)
{
	switch (form) {
	case DW_FORM_addr: return value_of(DWARF_ADDRESS, cursor_u64(c));
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		return value_of(DWARF_ADDRESS, dwarf_indexed_address(unit, cursor_uleb(c)));
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		return value_of(
			DWARF_ADDRESS,
			dwarf_indexed_address(unit, cursor_fixed(c, form_size(unit, form))));
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_flag: return value_of(DWARF_CONSTANT, cursor_fixed(c, form_size(unit, form)));
	case DW_FORM_udata: return value_of(DWARF_CONSTANT, cursor_uleb(c));
	case DW_FORM_sdata: return value_of(DWARF_CONSTANT, (uint64_t)cursor_sleb(c));
	case DW_FORM_implicit_const: return value_of(DWARF_CONSTANT, (uint64_t)implicit);
	case DW_FORM_flag_present: return value_of(DWARF_CONSTANT, 1);
	case DW_FORM_sec_offset: return value_of(DWARF_OFFSET, cursor_fixed(c, unit->offset_size));
	case DW_FORM_rnglistx: return value_of(DWARF_RANGES_INDEX, cursor_uleb(c));
	case DW_FORM_loclistx: return value_of(DWARF_NOTHING, cursor_uleb(c));
	case DW_FORM_string:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4: return read_string(unit, c, form);
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
	case DW_FORM_ref_addr:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8: return read_reference(unit, c, form);
	case DW_FORM_block1: return skip_block(c, cursor_u8(c));
	case DW_FORM_block2: return skip_block(c, cursor_u16(c));
	case DW_FORM_block4: return skip_block(c, cursor_u32(c));
	case DW_FORM_block:
	case DW_FORM_exprloc: return skip_block(c, cursor_uleb(c));
	case DW_FORM_data16: return skip_block(c, 16);
	case DW_FORM_ref_sig8: return skip_block(c, 8);
	}
	c->bad = true; /* of unknown size: nothing behind it can be read */
	return value_of(DWARF_NOTHING, 0);
}

struct dwarf_value dwarf_attribute_read(const struct dwarf_unit *unit, struct cursor *c,
					const struct dwarf_attribute *attribute)
{
	uint64_t form = attribute->form;

	if (form == DW_FORM_indirect)
		form = cursor_uleb(c); /* a second indirection is an unknown form */
	return read_form(unit, c, form, attribute->implicit);
}

void dwarf_attribute_skip(const struct dwarf_unit *unit, struct cursor *c,
			  const struct dwarf_attribute *attribute)
{
	if (attribute->size != DWARF_VARIES)
		cursor_skip(c, attribute->size);
	else
		dwarf_attribute_read(unit, c, attribute);
}

void dwarf_attributes_skip(const struct dwarf_unit *unit, struct cursor *c,
			   const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev)
{
	const struct dwarf_attribute *a = &abbrevs->attributes[abbrev->first_attribute];

	if (abbrev->fixed_size != DWARF_NO_SIZE) {
		cursor_skip(c, abbrev->fixed_size);
		return;
	}
	for (uint32_t i = 0; i < abbrev->nr_attributes && !c->bad; i++)
		dwarf_attribute_skip(unit, c, &a[i]);
}
