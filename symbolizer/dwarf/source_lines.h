/* A line table: the source files of a unit, and the line that each instruction comes from. */
#ifndef SPROF_SOURCE_LINES_H
#define SPROF_SOURCE_LINES_H

#include "symbolizer/dwarf/dwarf_file.h"
#include "symbolizer/dwarf/line_program.h"

struct dwarf_lines;

/*
 * Returns the table of a loaded unit. Units may share it; the file owns it. NULL where the unit has
 * none or it is damaged.
 */
struct dwarf_lines *dwarf_unit_lines(struct dwarf_unit *unit);
/* Frees the tables of all units of a file. */
void dwarf_lines_free_all(struct dwarf_file *file);

/*
 * Returns the path of a source file by its number, absolute where DWARF says so, without "." and
 * ".."; NULL = none. Lives as long as the DWARF file; equal paths are the same pointer.
 */
const char *dwarf_lines_path(struct dwarf_lines *lines, uint64_t file);

/*
 * Finds file number and line of each of the addresses, which are sorted; zeros where there is none.
 */
void dwarf_unit_find_lines(struct dwarf_unit *unit, const uint64_t *addresses, size_t nr,
			   struct dwarf_line *ret_lines);

#endif
