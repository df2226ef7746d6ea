/*
 * The sections of DWARF and the budget that pays for reading them. .debug_info and .debug_line may
 * stay in the file; all other sections are loaded when the file is opened.
 */
#include "symbolizer/dwarf/dwarf_file.h"

#include <stdio.h>

static const char *const section_names[NR_DWARF_SECTIONS] = {
	[DWARF_INFO] = ".debug_info",
	[DWARF_LINE] = ".debug_line",
	[DWARF_ABBREV] = ".debug_abbrev",
	[DWARF_STR] = ".debug_str",
	[DWARF_LINE_STR] = ".debug_line_str",
	[DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists",
	[DWARF_ADDR] = ".debug_addr",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
};

struct elf_section *dwarf_section_find(const struct dwarf_file *file, enum dwarf_section i)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s", section_names[i], file->is_split ? ".dwo" : "");
	return elf_image_section(file->image, name);
}

void dwarf_section_load(struct dwarf_file *file, enum dwarf_section i)
{
	struct elf_section *s = i == DWARF_INFO ? file->info : dwarf_section_find(file, i);
	uint64_t size;

	if (!s)
		return;
	file->sections[i].data = elf_section_data(file->image, s, &size);
	if (file->sections[i].data)
		file->sections[i].size = size;
}

bool dwarf_file_load_info(struct dwarf_file *file)
{
	if (file->sections[DWARF_INFO].data)
		return true;
	if (file->info->tried || (file->is_shared && file->is_split))
		return false;
	if (file->is_shared)
		file->wants_info = true;
	else
		dwarf_section_load(file, DWARF_INFO);
	return file->sections[DWARF_INFO].data;
}

bool dwarf_charge(struct dwarf_file *file, uint64_t n)
{
	if (file->budget < n) {
		file->budget = 0;
		return false;
	}
	file->budget -= n;
	return true;
}

struct cursor dwarf_cursor(const struct dwarf_file *file, enum dwarf_section section,
			   uint64_t offset)
{
	return cursor_at(file->sections[section].data, file->sections[section].size, offset);
}

const char *dwarf_string(const struct dwarf_file *file, enum dwarf_section section, uint64_t offset)
{
	/* elf_section_data() puts a NUL behind every section. */
	return offset < file->sections[section].size
		       ? (const char *)file->sections[section].data + offset
		       : NULL;
}
