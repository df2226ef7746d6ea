/*
 * The DWARF (versions 2 to 5) of one ELF file: its units, their entries (DIEs) and attributes. A
 * reader of our own: the symbolizer needs flat tables, built by one pass over all entries of a unit;
 * and the bytes are hostile, so every read is bounded, and all work is paid from a budget that a
 * well-formed file does not use up.
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
	DWARF_INFO, /* may not be loaded: see dwarf_file */
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

struct dwarf_lines;	  /* source_lines.h */
struct dwarf_description; /* subprograms.h */

/* How one kind of entry is laid out. */
struct dwarf_attribute {
	uint16_t name, form;
	uint8_t size; /* bytes in the entry; DWARF_VARIES = read it to know */
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
	uint64_t key; /* offset in .debug_abbrev, and what sizes depend on */
	struct dwarf_abbrev *abbrevs;
	size_t nr;
	bool dense; /* abbrevs[i].code == i + 1 */
	struct dwarf_attribute *attributes;
	size_t nr_attributes;
};

struct dwarf_unit {
	struct dwarf_file *file;
	uint64_t offset, entries, end; /* in .debug_info: header, first entry, end */
	uint64_t abbrev_offset;
	uint16_t version;
	uint8_t offset_size;  /* 4 or 8 */
	uint8_t type;	      /* DW_UT_* */
	uint64_t dwo_id;      /* of a skeleton and the unit that was split off; 0 = none */
	const uint8_t *bytes; /* from the header on; NULL = not loaded */
	uint64_t nr_bytes;    /* loaded ones */
	/* From the root entry. */
	bool has_lines;
	uint64_t low_pc, line_offset;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base,
		gnu_ranges_base; /* of this unit's lists; of those split off from it */
	const char *directory;	 /* valid while loaded, as is dwo_name */
	const char *dwo_name;	 /* a skeleton: the file that has its entries; else NULL */
	/* Of a unit that was split off: what stayed behind, its lines among it; else NULL. */
	struct dwarf_unit *skeleton;
	/* Made when first needed. */
	const struct dwarf_abbrevs *abbrevs;
	struct dwarf_lines *lines;
};

/*
 * Of .debug_info and .debug_line, the largest sections, one unit's part is in memory at a time,
 * until an entry refers to another unit (link-time optimization, dwz): then all of .debug_info is.
 * The other sections are loaded whole.
 */
struct dwarf_file {
	struct elf_image *image;
	const char *path; /* of the image; the opener's, NULL = unknown */
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
	struct dwarf_file *alt; /* what dwz moved to a file shared by several; or NULL */
	/* Split DWARF: split_units.h. */
	bool is_split;		  /* a .dwo file or a package of them */
	bool has_skeletons;	  /* known once the roots were read */
	struct string_pool *keep; /* strings of a .dwo file must go there; NULL: the file stays */
	uint64_t split_bytes, nr_split_missing;
	uint64_t max_bytes; /* of DWARF in any file that belongs to this one */
	/*
	 * A view that another thread uses: it must not load sections. It says here that it would have
	 * to, and the reference that needed .debug_info leads nowhere.
	 */
	bool is_shared, wants_info;
	uint64_t budget; /* work left, about a byte read each; users may add for what they ask */
	/* Tables that units share, by their offset in the section. */
	struct dwarf_abbrevs **abbrev_tables;
	struct dwarf_lines **line_tables;
	size_t nr_abbrev_tables, abbrev_tables_capacity;
	size_t nr_line_tables, line_tables_capacity;
	struct intern abbrev_index, line_index;
	/* Of functions, by their entry. */
	struct dwarf_description *descriptions;
	size_t nr_descriptions, descriptions_capacity;
	struct intern description_index;
	struct string_pool strings;
};

enum dwarf_class {
	DWARF_NOTHING, /* a form that says nothing here */
	DWARF_ADDRESS,
	DWARF_CONSTANT,
	DWARF_STRING,
	DWARF_OFFSET,	     /* into another section */
	DWARF_RANGES_INDEX,  /* into the unit's table of range lists */
	DWARF_REFERENCE,     /* entry at that offset of .debug_info */
	DWARF_REFERENCE_ALT, /* the same in file->alt */
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t number;
	const char *string;
};

/*
 * Reads the unit headers of the image, which must outlive the file. NULL where there is no DWARF,
 * or more than max_bytes of it.
 */
struct dwarf_file *dwarf_file_new(struct elf_image *image, uint64_t max_bytes);
/* The same for a .dwo file or a package, whose sections are called .debug_x.dwo. */
struct dwarf_file *dwarf_file_new_split(struct elf_image *image, uint64_t max_bytes);
void dwarf_file_free(struct dwarf_file *file);
/*
 * Another view of the file and of its alt, for another thread: it shares the sections that are
 * loaded, and has units, caches, strings and a budget of its own. `file` must outlive it, and load
 * nothing while the other thread is at work. Freed as any other.
 */
struct dwarf_file *dwarf_file_share(const struct dwarf_file *file);
/* Gives back what reading units needs; strings stay. No unit may be read afterwards. */
void dwarf_file_trim(struct dwarf_file *file);
/*
 * Brings all of .debug_info into memory, for units that refer to each other; false where that fails,
 * or where it must be done through the file that this is a view of.
 */
bool dwarf_file_load_info(struct dwarf_file *file);

/* The section of that kind, or NULL. */
struct elf_section *dwarf_section_find(const struct dwarf_file *file, enum dwarf_section section);
/* Brings a section into memory, decompressed; it stays absent where that fails. */
void dwarf_section_load(struct dwarf_file *file, enum dwarf_section section);

/* Takes n bytes from the budget; false where it is used up and the caller must give up. */
bool dwarf_charge(struct dwarf_file *file, uint64_t n);

struct cursor dwarf_cursor(const struct dwarf_file *file, enum dwarf_section section,
			   uint64_t offset);
/* A string of .debug_str or .debug_line_str; NULL beyond its end. */
const char *dwarf_string(const struct dwarf_file *file, enum dwarf_section section,
			 uint64_t offset);

/* The unit that an offset of .debug_info lies in, or NULL. */
struct dwarf_unit *dwarf_unit_at(struct dwarf_file *file, uint64_t offset);
/*
 * Brings the unit's entries into memory, in place of those of the unit before, and reads the root
 * entry and its bases. False where the unit is damaged.
 */
bool dwarf_unit_load(struct dwarf_unit *unit);
/* Like dwarf_unit_load(), but perhaps only the root entry is in memory. */
bool dwarf_unit_load_root(struct dwarf_unit *unit);
/* From an offset of .debug_info to the end of what is loaded of the unit. */
struct cursor dwarf_unit_cursor(const struct dwarf_unit *unit, uint64_t offset);
/* A string that was read from the unit's entries, in a place that outlives them. */
const char *dwarf_unit_keep(struct dwarf_unit *unit, const char *s);

/* Frees the abbreviation tables of all units of a file. */
void dwarf_abbrevs_free_all(struct dwarf_file *file);
/* NULL where the table is damaged; the same table is parsed once. */
const struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_unit *unit);
/* Reads an entry's code; NULL for the end of siblings (code 0) and where there is no such code. */
const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);

/*
 * Reads one attribute of an entry. An index into .debug_addr or .debug_str_offsets is resolved
 * through the unit's bases, which are in its root entry.
 */
struct dwarf_value dwarf_attribute_read(const struct dwarf_unit *unit, struct cursor *c,
					const struct dwarf_attribute *attribute);
void dwarf_attribute_skip(const struct dwarf_unit *unit, struct cursor *c,
			  const struct dwarf_attribute *attribute);
/* Passes over all of an entry's attributes. */
void dwarf_attributes_skip(const struct dwarf_unit *unit, struct cursor *c,
			   const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev);

#endif
