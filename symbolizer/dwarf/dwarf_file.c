/*
 * Units and their root entries. All unit headers are read when a file is opened; a unit's entries
 * are read when they are needed, and replace those of the unit before.
 */
#include "symbolizer/dwarf/dwarf_file.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/search.h"
#include "symbolizer/dwarf/source_lines.h"

/*
 * Work for each byte of DWARF. Real programs need at most 1.3; in a hostile file, overlapping
 * tables would be read once per reference.
 */
#define BUDGET_PER_BYTE 8
#define BUDGET_BASE (1u << 20)

#define UNITS_MIN 65536	 /* units that any file may have */
#define CACHED_TABLES 16 /* tables of each kind that are kept from one unit to the next */
#define ROOT_BYTES 512	 /* enough for the header and root entry that compilers write */

/* Reads a unit header from its first bytes; false where it makes no sense. */
static bool read_unit_header(struct dwarf_unit *unit, struct cursor *c, uint64_t left)
{
	const uint8_t *start = c->at;
	uint64_t length = cursor_u32(c);
	uint8_t address_size;

	unit->offset_size = 4;
	if (length == 0xffffffff) {
		length = cursor_u64(c);
		unit->offset_size = 8;
	}
	left -= (uint64_t)(c->at - start);
	if (c->bad || length > left || !length)
		return false;
	unit->end = unit->offset + (uint64_t)(c->at - start) + length;
	unit->version = cursor_u16(c);
	unit->type = DW_UT_compile;
	if (unit->version >= 5) {
		unit->type = cursor_u8(c);
		address_size = cursor_u8(c);
		unit->abbrev_offset = cursor_fixed(c, unit->offset_size);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->dwo_id = cursor_u64(c);
		else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
			cursor_skip(c, 8 + unit->offset_size);
	} else {
		unit->abbrev_offset = cursor_fixed(c, unit->offset_size);
		address_size = cursor_u8(c);
	}
	unit->entries = unit->offset + (uint64_t)(c->at - start);
	/* A unit of another kind is skipped, the units behind it are not. */
	if (c->bad || unit->entries >= unit->end || unit->version < 2 || unit->version > 5 ||
	    address_size != 8)
		unit->version = 0;
	return true;
}

/* A unit takes 200 bytes of memory. In the file, compressed, the smallest real ones take 32. */
static size_t max_units(const struct dwarf_file *file)
{
	return UNITS_MIN + file->info->size / 32;
}

static void read_units(struct dwarf_file *file)
{
	uint64_t size = file->sections[DWARF_INFO].data ? file->sections[DWARF_INFO].size
							: file->info->size;
	size_t capacity = 0;
	uint64_t at = 0;

	while (at < size) {
		struct dwarf_unit unit = { .file = file, .offset = at };
		uint64_t nr = size - at < 64 ? size - at : 64;
		struct cursor c;
		uint8_t header[64];

		if (elf_section_read(file->image, file->info, at, header, nr))
			break;
		c = cursor_at(header, nr, 0);
		if (!read_unit_header(&unit, &c, size - at))
			break;
		at = unit.end;
		if (!unit.version)
			continue;
		if (file->nr_units == max_units(file))
			break;
		file->units =
			xgrow(file->units, &capacity, file->nr_units + 1, sizeof(*file->units));
		file->units[file->nr_units++] = unit;
	}
}

/*
 * Finds the .debug_info.dwo that begins with a unit of code: a .dwo file whose types have units of
 * their own has a section for each. A package has one section with units in any order.
 */
static struct elf_section *find_split_info(struct dwarf_file *file)
{
	struct elf_section *first = dwarf_section_find(file, DWARF_INFO);

	for (size_t i = 0; first && i < file->image->nr_sections; i++) {
		struct elf_section *s = elf_image_section_at(file->image, i);
		struct dwarf_unit unit = { .file = file };
		uint8_t header[64];
		struct cursor c;

		if (strcmp(s->name, first->name) ||
		    elf_section_read(file->image, s, 0, header, sizeof(header)))
			continue;
		c = cursor_at(header, sizeof(header), 0);
		if (read_unit_header(&unit, &c, s->size) &&
		    (unit.type == DW_UT_split_compile || unit.type == DW_UT_compile))
			return s;
	}
	return first;
}

static uint64_t content_bytes(const struct dwarf_file *file)
{
	uint64_t total = 0;

	for (int i = 0; i < NR_DWARF_SECTIONS; i++) {
		struct elf_section *s = dwarf_section_find(file, i);

		total += s ? elf_section_content_size(file->image, s) : 0;
	}
	return total;
}

uint64_t dwarf_file_bytes(struct elf_image *image)
{
	const struct dwarf_file file = { .image = image };

	return dwarf_section_find(&file, DWARF_INFO) ? content_bytes(&file) : 0;
}

static struct dwarf_file *file_new(struct elf_image *image, uint64_t max_bytes, bool is_split)
{
	struct dwarf_file *file = xcalloc(1, sizeof(*file));
	uint64_t total;

	file->image = image;
	file->is_split = is_split;
	file->max_bytes = max_bytes;
	total = content_bytes(file);
	file->info = is_split ? find_split_info(file) : dwarf_section_find(file, DWARF_INFO);
	file->line = dwarf_section_find(file, DWARF_LINE);
	if (!file->info || total > max_bytes) {
		dwarf_file_free(file);
		return NULL;
	}
	for (int i = 0; i < NR_DWARF_SECTIONS; i++) {
		struct elf_section *s = i == DWARF_INFO ? file->info : dwarf_section_find(file, i);

		if (s && (i >= DWARF_ABBREV || elf_section_is_compressed(s)))
			dwarf_section_load(file, i);
	}
	file->budget = BUDGET_BASE + total * BUDGET_PER_BYTE;
	read_units(file);
	return file;
}

struct dwarf_file *dwarf_file_new(struct elf_image *image, uint64_t max_bytes)
{
	return file_new(image, max_bytes, false);
}

struct dwarf_file *dwarf_file_new_split(struct elf_image *image, uint64_t max_bytes)
{
	return file_new(image, max_bytes, true);
}

struct dwarf_file *dwarf_file_share(const struct dwarf_file *file)
{
	struct dwarf_file *view = xcalloc(1, sizeof(*view));

	view->image = file->image;
	view->info = file->info;
	view->line = file->line;
	memcpy(view->sections, file->sections, sizeof(view->sections));
	view->is_shared = true;
	view->budget = file->budget;
	view->path = file->path;
	view->root = file->root;
	view->max_bytes = file->max_bytes;
	view->is_split = file->is_split;
	view->has_skeletons = file->has_skeletons;
	view->alt = file->alt ? dwarf_file_share(file->alt) : NULL;
	view->nr_units = file->nr_units;
	view->units = xcalloc(file->nr_units, sizeof(*view->units));
	for (size_t i = 0; i < file->nr_units; i++) {
		view->units[i] = file->units[i];
		view->units[i].file = view;
		view->units[i].bytes = NULL;
		view->units[i].abbrevs = NULL;
		view->units[i].lines = NULL;
	}
	return view;
}

void dwarf_file_trim(struct dwarf_file *file)
{
	if (file->alt && file->alt->is_shared)
		dwarf_file_trim(file->alt);
	dwarf_abbrevs_free_all(file);
	dwarf_lines_free_all(file);
	intern_fini(&file->description_index);
	free(file->descriptions);
	free(file->abbrev_tables);
	free(file->line_tables);
	free(file->buffer);
	free(file->units);
	file->descriptions = NULL;
	file->abbrev_tables = NULL;
	file->line_tables = NULL;
	file->buffer = NULL;
	file->units = NULL;
	file->nr_units = 0;
}

void dwarf_file_free(struct dwarf_file *file)
{
	if (!file)
		return;
	dwarf_file_trim(file);
	if (file->is_shared)
		dwarf_file_free(file->alt);
	string_pool_fini(&file->strings);
	free(file);
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_file *file, uint64_t offset)
{
	size_t nr = SEARCH(i, file->nr_units, file->units[i].offset <= offset);

	if (!nr || offset < file->units[nr - 1].entries || offset >= file->units[nr - 1].end)
		return NULL;
	return &file->units[nr - 1];
}

/* Takes the attributes that others depend on; in an entry they may come after those. */
static void take_base(struct dwarf_unit *unit, uint16_t name, const struct dwarf_value *v)
{
	switch (name) {
	case DW_AT_str_offsets_base: unit->str_offsets_base = v->number; break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base: unit->addr_base = v->number; break;
	case DW_AT_rnglists_base: unit->rnglists_base = v->number; break;
	case DW_AT_GNU_ranges_base: unit->gnu_ranges_base = v->number; break;
	}
}

static void take_root_attribute(struct dwarf_unit *unit, uint16_t name, const struct dwarf_value *v)
{
	switch (name) {
	case DW_AT_low_pc: unit->low_pc = v->class == DWARF_ADDRESS ? v->number : 0; break;
	case DW_AT_stmt_list:
		unit->has_lines = v->class == DWARF_OFFSET || v->class == DWARF_CONSTANT;
		unit->line_offset = v->number;
		break;
	case DW_AT_comp_dir: unit->directory = v->string; break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name: unit->dwo_name = v->string; break;
	case DW_AT_GNU_dwo_id: unit->dwo_id = v->number; break;
	}
}

static bool read_root(struct dwarf_unit *unit)
{
	const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(unit);

	for (int pass = 0; abbrevs && pass < 2; pass++) {
		struct cursor c = dwarf_unit_cursor(unit, unit->entries);
		const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(abbrevs, cursor_uleb(&c));

		if (!abbrev || !dwarf_charge(unit->file, abbrev->nr_attributes))
			return false;
		for (uint32_t i = 0; i < abbrev->nr_attributes; i++) {
			const struct dwarf_attribute *a =
				&abbrevs->attributes[abbrev->first_attribute + i];
			struct dwarf_value v = dwarf_attribute_read(unit, &c, a);

			if (pass == 0)
				take_base(unit, a->name, &v);
			else
				take_root_attribute(unit, a->name, &v);
		}
		if (c.bad)
			return false;
	}
	return abbrevs;
}

/* Reads the root entry of a unit whose bytes are loaded. */
static bool take_root(struct dwarf_unit *unit)
{
	unit->dwo_name = NULL;
	if (read_root(unit)) {
		unit->file->has_skeletons |= unit->dwo_name && !unit->file->is_split;
		return true;
	}
	unit->bytes = NULL;
	return false;
}

/* Makes room for another unit. No other pointers to the tables exist at this time. */
static void forget_unit(struct dwarf_file *file)
{
	if (file->loaded) {
		file->loaded->bytes = NULL;
		file->loaded->abbrevs = NULL;
		file->loaded->lines = NULL;
		file->loaded = NULL;
	}
	if (file->nr_abbrev_tables >= CACHED_TABLES)
		dwarf_abbrevs_free_all(file);
	if (file->nr_line_tables >= CACHED_TABLES)
		dwarf_lines_free_all(file);
}

/* Loads at least `nr` bytes of the unit. */
static bool load_bytes(struct dwarf_unit *unit, uint64_t nr)
{
	struct dwarf_file *file = unit->file;

	if (unit->bytes && unit->nr_bytes >= nr)
		return true;
	if (file->sections[DWARF_INFO].data) {
		unit->bytes = file->sections[DWARF_INFO].data + unit->offset;
		unit->nr_bytes = unit->end - unit->offset;
		return true;
	}
	forget_unit(file);
	if (nr > file->buffer_capacity) {
		free(file->buffer);
		file->buffer_capacity = 0;
		/* Not xmalloc(): the size comes from the file and may be false. */
		file->buffer = malloc(nr + nr / 2);
		if (!file->buffer)
			return false;
		file->buffer_capacity = nr + nr / 2;
	}
	if (elf_section_read(file->image, file->info, unit->offset, file->buffer, nr))
		return false;
	unit->bytes = file->buffer;
	unit->nr_bytes = nr;
	file->loaded = unit;
	return true;
}

bool dwarf_unit_load(struct dwarf_unit *unit)
{
	uint64_t size = unit->end - unit->offset;

	if (unit->bytes && unit->nr_bytes == size)
		return true;
	return load_bytes(unit, size) && take_root(unit);
}

bool dwarf_unit_load_root(struct dwarf_unit *unit)
{
	uint64_t size = unit->end - unit->offset;

	if (size > ROOT_BYTES && load_bytes(unit, ROOT_BYTES) && take_root(unit))
		return true;
	return dwarf_unit_load(unit);
}

struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset)
{
	return cursor_at(unit->bytes, unit->nr_bytes, offset - unit->offset);
}

const char *dwarf_unit_keep(struct dwarf_unit *unit, const char *s)
{
	const uint8_t *at = (const uint8_t *)s;

	if (unit->file->keep)
		return string_pool_add(unit->file->keep, s);
	if (unit->file->loaded != unit || at < unit->bytes || at >= unit->bytes + unit->nr_bytes)
		return s;
	return string_pool_add(&unit->file->strings, s);
}
