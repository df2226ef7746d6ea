/*
 * Line tables: the header with directories and files, and lookups; line_program.c runs the program.
 * Units that name the same table share it.
 */
#include "symbolizer/dwarf/source_lines.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "symbolizer/dwarf/line_program.h"
#include "symbolizer/lookup/source_path.h"

#define FORMATS_MAX 16 /* kinds of data per file; the standard defines five */

struct line_file {
	const char *name;
	uint64_t directory;
	const char *path; /* made on demand, in the file's string pool */
};

struct dwarf_lines {
	uint64_t offset; /* in .debug_line */
	uint8_t *bytes;	 /* a copy, from the header on; NULL: the section is in memory */
	struct string_pool *strings;
	const char *unit_directory;
	uint16_t version;
	const char **directories;
	struct line_file *files;
	size_t nr_directories, nr_files, directories_capacity, files_capacity;
	struct dwarf_line_program program;
};

static void add_directory(struct dwarf_lines *t, const char *name)
{
	t->directories = xgrow(t->directories, &t->directories_capacity, t->nr_directories + 1,
			       sizeof(*t->directories));
	t->directories[t->nr_directories++] = name;
}

static void add_file(struct dwarf_lines *t, const char *name, uint64_t directory)
{
	t->files = xgrow(t->files, &t->files_capacity, t->nr_files + 1, sizeof(*t->files));
	t->files[t->nr_files++] = (struct line_file){ .name = name, .directory = directory };
}

/* Reads the names of DWARF 2 to 4: numbers start at 1; directory 0 is where the compiler ran. */
static void read_old_names(struct dwarf_lines *t, struct cursor *c)
{
	const char *name;

	add_directory(t, t->unit_directory);
	while ((name = cursor_string(c)) && *name)
		add_directory(t, name);
	add_file(t, NULL, 0);
	while ((name = cursor_string(c)) && *name) {
		add_file(t, name, cursor_uleb(c));
		cursor_uleb(c); /* time */
		cursor_uleb(c); /* size */
	}
}

/*
 * Reads the names of DWARF 5: a table that describes its own columns; used for directories, then
 * for files.
 */
static bool read_names(struct dwarf_lines *t, const struct dwarf_unit *unit, struct cursor *c,
		       bool files)
{
	struct dwarf_attribute formats[FORMATS_MAX] = { 0 };
	uint8_t nr_formats = cursor_u8(c);
	uint64_t nr;

	if (nr_formats > FORMATS_MAX)
		return false;
	for (uint8_t i = 0; i < nr_formats; i++) {
		formats[i].name = (uint16_t)cursor_uleb(c);
		formats[i].form = (uint16_t)cursor_uleb(c);
	}
	nr = cursor_uleb(c);
	if (nr > cursor_left(c)) /* each entry takes at least a byte */
		return false;
	for (uint64_t i = 0; i < nr && !c->bad; i++) {
		const char *name = NULL;
		uint64_t directory = 0;

		for (uint8_t j = 0; j < nr_formats; j++) {
			struct dwarf_value v = dwarf_attribute_read(unit, c, &formats[j]);

			if (formats[j].name == DW_LNCT_path)
				name = v.string;
			else if (formats[j].name == DW_LNCT_directory_index)
				directory = v.number;
		}
		if (files)
			add_file(t, name, directory);
		else
			add_directory(t, name);
	}
	return !c->bad;
}

/* Reads the header and leaves c at the program, bounded by the end of the table. */
static bool read_header(struct dwarf_lines *t, const struct dwarf_unit *unit, struct cursor *c)
{
	struct dwarf_line_program *p = &t->program;
	struct dwarf_unit names = *unit; /* a table may be 32-bit DWARF where its unit is 64-bit */
	uint64_t length = cursor_u32(c);
	const uint8_t *start;

	names.offset_size = length == 0xffffffff ? 8 : 4;
	if (length == 0xffffffff)
		length = cursor_u64(c);
	if (c->bad || length > cursor_left(c))
		return false;
	c->end = c->at + length;
	t->version = cursor_u16(c);
	if (t->version < 2 || t->version > 5)
		return false;
	if (t->version >= 5)
		cursor_skip(c, 2); /* sizes of addresses and selectors */
	length = cursor_fixed(c, names.offset_size);
	if (c->bad || length > cursor_left(c))
		return false;
	start = c->at + length;
	p->min_instruction = cursor_u8(c);
	if (t->version >= 4)
		cursor_skip(c, 1); /* operations per instruction: 1, except on VLIW machines */
	cursor_skip(c, 1);	   /* whether rows are statements by default */
	p->line_base = (int8_t)cursor_u8(c);
	p->line_range = cursor_u8(c);
	p->opcode_base = cursor_u8(c);
	for (unsigned i = 1; i < p->opcode_base; i++)
		p->nr_operands[i] = cursor_u8(c);
	if (c->bad || !p->line_range || !p->opcode_base)
		return false;
	if (t->version < 5)
		read_old_names(t, c);
	else if (!read_names(t, &names, c, false) || !read_names(t, &names, c, true))
		return false;
	p->code = (struct cursor){ .at = start, .end = c->end };
	return true;
}

/*
 * Returns the bytes of the table, perhaps with more behind them; the cursor is bad where they
 * cannot be read.
 */
static struct cursor load_table(struct dwarf_lines *t, const struct dwarf_file *file)
{
	struct cursor c = dwarf_cursor(file, DWARF_LINE, t->offset);
	uint64_t size, left;
	uint8_t length[12];

	if (file->sections[DWARF_LINE].data || !file->line)
		return c;
	if (elf_section_read(file->image, file->line, t->offset, length, sizeof(length)))
		return c;
	c = cursor_at(length, sizeof(length), 0);
	size = cursor_u32(&c) + 4ull;
	if (size == 0xffffffff + 4ull)
		size = cursor_u64(&c) + 12;
	left = file->line->size - t->offset;
	t->bytes = size <= left ? malloc(size) : NULL;
	if (!t->bytes || elf_section_read(file->image, file->line, t->offset, t->bytes, size))
		return (struct cursor){ .bad = true };
	return cursor_at(t->bytes, size, 0);
}

static struct dwarf_lines *lines_new(struct dwarf_unit *unit)
{
	struct dwarf_lines *t = xcalloc(1, sizeof(*t));
	struct cursor c;

	t->offset = unit->line_offset;
	t->strings = &unit->file->strings;
	t->unit_directory = unit->directory ? string_pool_add(t->strings, unit->directory) : NULL;
	c = load_table(t, unit->file);
	if (!read_header(t, unit, &c)) {
		t->nr_files = t->nr_directories = 0;
		t->program = (struct dwarf_line_program){ 0 };
	}
	dwarf_charge(unit->file, t->nr_files + t->nr_directories);
	return t;
}

static bool lines_equal(const void *owner, uint32_t id, const void *key)
{
	const struct dwarf_file *file = owner;

	return file->line_tables[id]->offset == *(const uint64_t *)key;
}

struct dwarf_lines *dwarf_unit_lines(struct dwarf_unit *unit)
{
	struct dwarf_file *file = unit->file;
	uint64_t key;
	uint32_t next = (uint32_t)file->nr_line_tables, id;

	if (unit->skeleton)
		return dwarf_unit_lines(unit->skeleton);
	if (unit->lines)
		return unit->lines;
	if (!unit->has_lines || !file->budget)
		return NULL;
	key = unit->line_offset;
	id = intern_id(&file->line_index, (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32), next,
		       lines_equal, file, &key);
	if (id == next) {
		file->line_tables = xgrow(file->line_tables, &file->line_tables_capacity,
					  file->nr_line_tables + 1, sizeof(*file->line_tables));
		file->line_tables[file->nr_line_tables++] = lines_new(unit);
	}
	unit->lines = file->line_tables[id];
	return unit->lines;
}

static void lines_free(struct dwarf_lines *t)
{
	if (!t)
		return;
	free(t->files);
	free(t->directories);
	free(t->bytes);
	free(t);
}

void dwarf_lines_free_all(struct dwarf_file *file)
{
	for (size_t i = 0; i < file->nr_line_tables; i++)
		lines_free(file->line_tables[i]);
	file->nr_line_tables = 0;
	intern_fini(&file->line_index);
	file->line_index = (struct intern){ 0 };
}

const char *dwarf_lines_path(struct dwarf_lines *t, uint64_t file)
{
	const char *directory = NULL;
	struct line_file *f;
	char *path;

	if (file >= t->nr_files || !t->files[file].name)
		return NULL;
	f = &t->files[file];
	if (f->path)
		return f->path;
	if (f->directory < t->nr_directories)
		directory = t->directories[f->directory];
	path = source_path(t->unit_directory, directory, f->name);
	f->path = string_pool_add(t->strings, path);
	free(path);
	return f->path;
}

void dwarf_unit_find_lines(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
			   struct dwarf_line *ret_lines)
{
	struct dwarf_lines *t = dwarf_unit_lines(unit);

	memset(ret_lines, 0, nr * sizeof(*ret_lines));
	if (t)
		dwarf_line_program_run(&t->program, unit->file, addresses, nr, ret_lines);
}
