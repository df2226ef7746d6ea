/*
 * Finds the .dwo file, or the part of a package, with the entries of a skeleton, and joins the two:
 * a unit that was split off takes its addresses and bases from its skeleton.
 */
#include "symbolizer/dwarf/split_units.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "symbolizer/lookup/debug_file.h"

/* Limit for one module: a hostile file may refer to large files again and again. */
#define SPLIT_BYTES_MAX (64ull << 30)
#define COLUMNS_MAX 16 /* of the index of a package; there are eight kinds of section */
#define INDEX_SIZE_MAX (256ull << 20)

/* Where a unit's part of each section begins; 0 in a .dwo file. */
struct parts {
	uint64_t abbrev, str_offsets, rnglists;
};

/* One row of the index of a package. */
struct package_unit {
	uint64_t dwo_id;
	uint32_t unit; /* in the package's file */
	struct parts parts;
};

struct dwarf_package {
	struct elf_image *image; /* NULL in a view */
	char *path;		 /* likewise */
	struct dwarf_file *file;
	/* by dwo_id; owned by the package that was opened, not by its views */
	struct package_unit *units;
	size_t nr;
};

/*
 * Columns of the index: DWARF 5, table 7.1. Version 2 has others, and the same numbers for these.
 */
enum { PART_INFO = 1, PART_ABBREV = 3, PART_STR_OFFSETS = 6, PART_RNGLISTS = 8 };

/* The header and tables of .debug_cu_index. */
struct package_index {
	const uint8_t *data;
	uint64_t size;
	uint32_t version, nr_columns, nr_units, nr_slots;
	uint64_t signatures, rows, columns, offsets; /* offsets of the tables */
};

static uint32_t u32_at(const struct package_index *x, uint64_t offset)
{
	struct cursor c = cursor_at(x->data, x->size, offset);

	return cursor_u32(&c);
}

static bool read_index_header(struct package_index *x)
{
	x->version = u32_at(x, 0) & 0xffff; /* since DWARF 5 a halfword and padding */
	x->nr_columns = u32_at(x, 4);
	x->nr_units = u32_at(x, 8);
	x->nr_slots = u32_at(x, 12);
	x->signatures = 16;
	x->rows = x->signatures + 8ull * x->nr_slots;
	x->columns = x->rows + 4ull * x->nr_slots;
	x->offsets = x->columns + 4ull * x->nr_columns;
	return (x->version == 2 || x->version == 5) && x->nr_columns <= COLUMNS_MAX &&
	       x->offsets + 4ull * x->nr_columns * x->nr_units <= x->size;
}

/*
 * Reads the parts of the unit in a row (from 1). Returns the offset of its header in
 * .debug_info.dwo.
 */
static uint64_t read_row(const struct package_index *x, uint32_t row, struct parts *ret_parts)
{
	uint64_t at = x->offsets + 4ull * x->nr_columns * (row - 1), info = UINT64_MAX;

	*ret_parts = (struct parts){ 0 };
	for (uint32_t i = 0; i < x->nr_columns; i++) {
		uint64_t offset = u32_at(x, at + 4ull * i);

		switch (u32_at(x, x->columns + 4ull * i)) {
		case PART_INFO: info = offset; break;
		case PART_ABBREV: ret_parts->abbrev = offset; break;
		case PART_STR_OFFSETS: ret_parts->str_offsets = offset; break;
		case PART_RNGLISTS:
			if (x->version == 5) /* in version 2 this number means macros */
				ret_parts->rnglists = offset;
			break;
		}
	}
	return info;
}

static int compare_units(const void *a, const void *b)
{
	const struct package_unit *x = a, *y = b;

	return ORDER(x->dwo_id, y->dwo_id) ?: ORDER(x->unit, y->unit);
}

/* Returns the unit whose header is at `offset`, or NULL. */
static const struct dwarf_unit *unit_with_header(const struct dwarf_file *file, uint64_t offset)
{
	size_t at = SEARCH(i, file->nr_units, file->units[i].offset < offset);

	return at < file->nr_units && file->units[at].offset == offset ? &file->units[at] : NULL;
}

static void read_index(struct dwarf_package *p)
{
	struct elf_section *section = elf_image_section(p->image, ".debug_cu_index");
	struct package_index x = { 0 };
	size_t capacity = 0;

	if (section && elf_section_content_size(p->image, section) <= INDEX_SIZE_MAX)
		x.data = elf_section_data(p->image, section, &x.size);
	if (!x.data || !read_index_header(&x))
		return;
	for (uint32_t slot = 0; slot < x.nr_slots; slot++) {
		struct cursor c = cursor_at(x.data, x.size, x.signatures + 8ull * slot);
		uint32_t row = u32_at(&x, x.rows + 4ull * slot);
		struct package_unit u = { .dwo_id = cursor_u64(&c) };
		const struct dwarf_unit *unit;

		if (!row || row > x.nr_units)
			continue;
		unit = unit_with_header(p->file, read_row(&x, row, &u.parts));
		if (!unit)
			continue;
		u.unit = (uint32_t)(unit - p->file->units);
		p->units = xgrow(p->units, &capacity, p->nr + 1, sizeof(*p->units));
		p->units[p->nr++] = u;
	}
	if (p->nr)
		qsort(p->units, p->nr, sizeof(*p->units), compare_units);
}

struct dwarf_package *dwarf_package_open(const struct dwarf_file *file)
{
	struct dwarf_package *p;
	char *path;

	if (!file->path)
		return NULL;
	path = xasprintf("%s.dwp", file->path);
	p = xcalloc(1, sizeof(*p));
	p->path = path;
	p->image = debug_file_open(file->root, path);
	p->file = p->image ? dwarf_file_new_split(p->image, file->max_bytes) : NULL;
	if (!p->file) {
		dwarf_package_free(p);
		return NULL;
	}
	read_index(p);
	log_debug("'%s': %zu units of split DWARF", path, p->nr);
	return p;
}

struct dwarf_package *dwarf_package_share(const struct dwarf_package *package)
{
	struct dwarf_package *view;

	if (!package)
		return NULL;
	view = xcalloc(1, sizeof(*view));
	view->file = dwarf_file_share(package->file);
	view->units = package->units;
	view->nr = package->nr;
	return view;
}

void dwarf_package_trim(struct dwarf_package *package)
{
	if (package)
		dwarf_file_trim(package->file);
}

void dwarf_package_free(struct dwarf_package *package)
{
	if (!package)
		return;
	dwarf_file_free(package->file);
	if (package->path) {
		debug_file_warn(package->image, package->path);
		free(package->units);
		free(package->path);
		elf_image_close(package->image);
	}
	free(package);
}

/* Gives the unit what stayed in the skeleton, and loads it. */
static bool join(struct dwarf_unit *unit, struct dwarf_unit *skeleton, const struct parts *parts)
{
	const struct dwarf_file *main = skeleton->file;
	struct dwarf_file *split = unit->file;
	bool wide = unit->offset_size == 8;

	split->sections[DWARF_ADDR] = main->sections[DWARF_ADDR];
	split->sections[DWARF_RANGES] = main->sections[DWARF_RANGES];
	unit->skeleton = skeleton;
	unit->low_pc = skeleton->low_pc;
	unit->addr_base = skeleton->addr_base;
	unit->ranges_base = skeleton->gnu_ranges_base;
	/* Bases point behind the header of the unit's part; version 4 has no such header. */
	unit->str_offsets_base = parts->str_offsets;
	if (unit->version >= 5)
		unit->str_offsets_base += wide ? 16 : 8;
	unit->rnglists_base = parts->rnglists + (wide ? 20 : 12);
	return dwarf_unit_load(unit);
}

static struct dwarf_unit *open_in_package(const struct dwarf_package *p,
					  struct dwarf_unit *skeleton)
{
	size_t at = SEARCH(i, p->nr, p->units[i].dwo_id < skeleton->dwo_id);
	struct dwarf_unit *unit;

	if (at == p->nr || p->units[at].dwo_id != skeleton->dwo_id)
		return NULL;
	unit = &p->file->units[p->units[at].unit];
	/* Offsets in the header are relative to the unit's part, whose start is added once. */
	if (!unit->skeleton)
		unit->abbrev_offset += p->units[at].parts.abbrev;
	return join(unit, skeleton, &p->units[at].parts) ? unit : NULL;
}

/* Returns the unit of a .dwo file that has the skeleton's id. */
static struct dwarf_unit *find_unit(struct dwarf_file *file, struct dwarf_unit *skeleton)
{
	static const struct parts whole;

	for (size_t i = 0; i < file->nr_units; i++) {
		struct dwarf_unit *unit = &file->units[i];

		if (unit->type != DW_UT_split_compile && unit->type != DW_UT_compile)
			continue;
		/*
		 * Before DWARF 5 the id is an attribute of the root, so the unit must be loaded to
		 * see it.
		 */
		if (join(unit, skeleton, &whole) && unit->dwo_id == skeleton->dwo_id)
			return unit;
	}
	return NULL;
}

/* Takes over path. */
static struct dwarf_unit *open_dwo(struct dwarf_unit *skeleton, char *path)
{
	struct dwarf_file *main = skeleton->file, *file = NULL;
	struct elf_image *image = debug_file_open(main->root, path);
	struct dwarf_unit *unit = NULL;

	if (image && image->source.size <= SPLIT_BYTES_MAX - main->split_bytes) {
		main->split_bytes += image->source.size;
		file = dwarf_file_new_split(image, main->max_bytes);
	}
	if (file) {
		file->keep = &main->strings;
		unit = find_unit(file, skeleton);
	}
	if (image && !unit)
		debug_file_warn(image, path);
	if (image && !unit)
		log_debug("'%s' is not the split DWARF that was linked", path);
	free(path);
	if (unit)
		return unit;
	dwarf_file_free(file);
	elf_image_close(image);
	return NULL;
}

/* Looks where the compiler wrote the file, then beside the binary, where it may have been moved. */
static struct dwarf_unit *open_named(struct dwarf_unit *skeleton)
{
	const char *name = skeleton->dwo_name, *directory = skeleton->directory;
	const char *path = skeleton->file->path, *slash = path ? strrchr(path, '/') : NULL;
	struct dwarf_unit *unit = NULL;

	if (name[0] == '/')
		return open_dwo(skeleton, xstrdup(name));
	if (directory && directory[0] == '/')
		unit = open_dwo(skeleton, xasprintf("%s/%s", directory, name));
	if (!unit && slash)
		unit = open_dwo(skeleton, xasprintf("%.*s/%s", (int)(slash - path), path, name));
	return unit;
}

struct dwarf_unit *dwarf_split_open(struct dwarf_unit *skeleton,
				    const struct dwarf_package *package)
{
	struct dwarf_unit *unit = NULL;

	if (package)
		unit = open_in_package(package, skeleton);
	if (!unit && skeleton->dwo_name[0])
		unit = open_named(skeleton);
	skeleton->file->nr_split_missing += !unit;
	return unit;
}

void dwarf_split_close(struct dwarf_unit *split)
{
	struct dwarf_file *file = split ? split->file : NULL;
	struct elf_image *image;

	if (!file || !file->keep)
		return; /* a package stays open */
	image = file->image;
	dwarf_file_free(file);
	elf_image_close(image);
}
