/*
 * Split DWARF: the linker sees skeletons, units that say where their code is and which lines it
 * comes from. Their entries stay in a .dwo file each, or are collected in one package, a .dwp file
 * beside the binary. DWARF 5, sections 3.1.2, 7.3.2 and 7.3.5; for DWARF 4, the GNU extension that
 * it came from (https://gcc.gnu.org/wiki/DebugFission).
 */
#ifndef SPROF_SPLIT_UNITS_H
#define SPROF_SPLIT_UNITS_H

#include "symbolizer/dwarf/dwarf_file.h"

struct dwarf_package;

/* Opens the package of a file that has skeletons. NULL where it has none. */
struct dwarf_package *dwarf_package_open(const struct dwarf_file *file);
/* Makes a view for another thread, as dwarf_file_share() does. NULL gives NULL. */
struct dwarf_package *dwarf_package_share(const struct dwarf_package *package);
/* Like dwarf_file_trim(). NULL is fine. */
void dwarf_package_trim(struct dwarf_package *package);
void dwarf_package_free(struct dwarf_package *package);

/*
 * Loads the entries that were split off from a loaded skeleton, out of the package (or NULL) or the
 * .dwo file that the skeleton names. NULL where they are not found, which the skeleton's file
 * counts. The result must go to dwarf_split_close() before the next is opened; descriptions read
 * from it stay.
 */
struct dwarf_unit *dwarf_split_open(struct dwarf_unit *skeleton,
				    const struct dwarf_package *package);
void dwarf_split_close(struct dwarf_unit *split);

#endif
