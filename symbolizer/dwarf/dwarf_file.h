/*
 * The DWARF (versions 2 to 5) of one ELF file: its units, their entries (DIEs) and attributes.
 * sprof has its own reader because the symbolizer needs flat tables, built in one pass over the
 * entries of a unit, and because the bytes are untrusted: every read is bounded, and all work is
 * paid from a budget that a well-formed file does not use up.
 *
 * sections.c is the lowest layer, abbrev.c stands on it, and dwarf_file.c on both.
 */
#ifndef SPROF_DWARF_FILE_H
#define SPROF_DWARF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/intern.h"
#include "core/base/cursor.h"
#include "core/base/elf_file.h"
#include "symbolizer/lookup/string_pool.h"

enum dwarf_section {
	DWARF_INFO, /* may be unloaded: see struct dwarf_file */
	DWARF_LINE, /* likewise */
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	NR_DWARF_SECTIONS
};

#define DWARF_VARIES 255
#define DWARF_NO_SIZE UINT32_MAX

struct debug_root;
struct dwarf_lines;	  /* source_lines.h */
struct dwarf_description; /* subprograms.h */

/* One attribute in the layout of an entry. */
struct dwarf_attribute {
	uint16_t name, form;
	uint8_t size; /* bytes in the entry; DWARF_VARIES: known only by reading it */
	int64_t implicit;
};

struct dwarf_abbrev {
	uint64_t code;
	uint32_t first_attribute, nr_attributes; /* in dwarf_abbrevs.attributes */
	uint32_t fixed_size; /* bytes of all attributes; DWARF_NO_SIZE = varies */
	uint16_t tag;
	bool has_children;
};

struct dwarf_abbrevs {
	uint64_t key; /* offset in .debug_abbrev, and the properties that sizes depend on */
	struct dwarf_abbrev *abbrevs;
	size_t nr;
	bool dense; /* abbrevs[i].code == i + 1 */
	struct dwarf_attribute *attributes;
	size_t nr_attributes;
};

struct dwarf_unit {
	struct dwarf_file *file;
	/* offsets in .debug_info: of the header, the first entry, and the end */
	uint64_t offset, entries, end;
	uint64_t abbrev_offset;
	uint16_t version;
	uint8_t offset_size;  /* 4 or 8 */
	uint8_t type;	      /* DW_UT_* */
	uint64_t dwo_id;      /* joins a skeleton with the unit that was split off; 0 = none */
	const uint8_t *bytes; /* from the header on; NULL = not loaded */
	uint64_t nr_bytes;    /* bytes that are loaded */
	/* Read from the root entry. */
	bool has_lines;
	uint64_t low_pc, line_offset;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base,
		/* for lists of this unit; for those of the unit split off from it */
		gnu_ranges_base;
	const char *directory; /* valid while the unit is loaded, as is dwo_name */
	const char *dwo_name;  /* of a skeleton: the file that has its entries; else NULL */
	/* Of a unit that was split off: its skeleton, which has the lines; else NULL. */
	struct dwarf_unit *skeleton;
	/* Made on demand. */
	const struct dwarf_abbrevs *abbrevs;
	struct dwarf_lines *lines;
};

/*
 * Of .debug_info and .debug_line, the largest sections, one unit's part is in memory at a time,
 * until an entry refers to another unit (link-time optimization, dwz): from then on all of
 * .debug_info is. The other sections are loaded whole.
 */
struct dwarf_file {
	struct elf_image *image;
	const char *path; /* of the image; owned by the caller, NULL = unknown */
	/* in which the path and the paths inside the file have a meaning; the caller's */
	const struct debug_root *root;
	struct elf_section *info, *line;
	struct {
		const uint8_t *data;
		uint64_t size;
	} sections[NR_DWARF_SECTIONS]; /* not loaded: data == NULL, size 0 */
	struct dwarf_unit *units;
	size_t nr_units;
	struct dwarf_unit *loaded; /* the unit whose bytes are in `buffer`, or NULL */
	uint8_t *buffer;
	size_t buffer_capacity;
	struct dwarf_file *alt; /* the file to which dwz moved what several files share; or NULL */
	/* Split DWARF: split_units.h. */
	bool is_split;	    /* this is a .dwo file or a package of them */
	bool has_skeletons; /* known after the roots were read */
	/* where strings of a .dwo file must go; NULL: the file stays open */
	struct string_pool *keep;
	uint64_t split_bytes, nr_split_missing;
	uint64_t max_bytes; /* limit on the DWARF of this and of every related file */
	/*
	 * is_shared: a view for another thread, which must not load sections. It sets wants_info
	 * where it would have to; the reference that needed .debug_info is then not followed.
	 */
	bool is_shared, wants_info;
	/* work left, about a byte read each; callers add to it for their requests */
	uint64_t budget;
	/* Tables that units share, found by their offset in the section. */
	struct dwarf_abbrevs **abbrev_tables;
	struct dwarf_lines **line_tables;
	size_t nr_abbrev_tables, abbrev_tables_capacity;
	size_t nr_line_tables, line_tables_capacity;
	struct intern abbrev_index, line_index;
	/* Descriptions of functions, found by their entry. */
	struct dwarf_description *descriptions;
	size_t nr_descriptions, descriptions_capacity;
	struct intern description_index;
	struct string_pool strings;
};

enum dwarf_class {
	DWARF_NOTHING, /* a form that carries nothing needed here */
	DWARF_ADDRESS,
	DWARF_CONSTANT,
	DWARF_STRING,
	DWARF_OFFSET,	     /* an offset in another section */
	DWARF_RANGES_INDEX,  /* an index in the unit's table of range lists */
	DWARF_REFERENCE,     /* an entry, by its offset in .debug_info */
	DWARF_REFERENCE_ALT, /* the same in file->alt */
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t number;
	const char *string;
};

/* Returns how much memory the DWARF of an image takes, decompressed; 0 = has none. */
uint64_t dwarf_file_bytes(struct elf_image *image);
/*
 * Reads the unit headers of the image, which must outlive the file. NULL where there is no DWARF,
 * or more than max_bytes of it.
 */
struct dwarf_file *dwarf_file_new(struct elf_image *image, uint64_t max_bytes);
/* The same for a .dwo file or a package, whose sections are called .debug_x.dwo. */
struct dwarf_file *dwarf_file_new_split(struct elf_image *image, uint64_t max_bytes);
void dwarf_file_free(struct dwarf_file *file);
/*
 * Makes a view of the file and of its alt for another thread. It shares the loaded sections and has
 * its own units, caches, strings and budget. `file` must outlive the view, and load nothing while
 * the other thread works. Freed like any other file.
 */
struct dwarf_file *dwarf_file_share(const struct dwarf_file *file);
/* Frees what is needed for reading units; strings stay. No unit may be read afterwards. */
void dwarf_file_trim(struct dwarf_file *file);
/*
 * Loads all of .debug_info, for units that refer to each other. Returns false where that fails, or
 * where this is a view and the file behind it must do it.
 */
bool dwarf_file_load_info(struct dwarf_file *file);

/* Returns the section of that kind, or NULL. */
struct elf_section *dwarf_section_find(const struct dwarf_file *file, enum dwarf_section section);
/* Loads a section, decompressed. Where that fails, it stays absent. */
void dwarf_section_load(struct dwarf_file *file, enum dwarf_section section);

/* Takes n from the budget. Returns false where it is used up: the caller must give up. */
bool dwarf_charge(struct dwarf_file *file, uint64_t n);

struct cursor dwarf_cursor(const struct dwarf_file *file, enum dwarf_section section,
			   uint64_t offset);
/* Returns a string of .debug_str or .debug_line_str; NULL beyond its end. */
const char *dwarf_string(const struct dwarf_file *file, enum dwarf_section section,
			 uint64_t offset);

/* Returns the unit with entries at that offset of .debug_info, or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dwarf_file *file, uint64_t offset);
/*
 * Loads the unit's entries, in place of those of the unit before, and reads the root entry with its
 * bases. Returns false where the unit is damaged.
 */
bool dwarf_unit_load(struct dwarf_unit *unit);
/* Like dwarf_unit_load(), but may load no more than the root entry. */
bool dwarf_unit_load_root(struct dwarf_unit *unit);
/* Returns a cursor from an offset of .debug_info to the end of the unit's loaded bytes. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset);
/* Returns a string that was read from the unit's entries, in memory that outlives them. */
const char *dwarf_unit_keep(struct dwarf_unit *unit, const char *s);

/* Frees the abbreviation tables of all units of a file. */
void dwarf_abbrevs_free_all(struct dwarf_file *file);
/* Returns the abbreviations of the unit; a table is parsed once. NULL where it is damaged. */
const struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_unit *unit);
/* Finds the abbreviation of a code; NULL for the end of siblings (0) and for an unknown code. */
const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);

/* The address at that index of the unit's part of .debug_addr; 0 where there is none. */
uint64_t dwarf_indexed_address(const struct dwarf_unit *unit, uint64_t index);

/*
 * Reads one attribute of an entry. Indices into .debug_addr and .debug_str_offsets are resolved
 * through the unit's bases, which are in its root entry.
 */
struct dwarf_value dwarf_attribute_read(const struct dwarf_unit *unit, struct cursor *c,
					const struct dwarf_attribute *attribute);
void dwarf_attribute_skip(const struct dwarf_unit *unit, struct cursor *c,
			  const struct dwarf_attribute *attribute);
/* Skips all attributes of an entry. */
void dwarf_attributes_skip(const struct dwarf_unit *unit, struct cursor *c,
			   const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev);

#endif
