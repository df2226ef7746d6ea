/*
 * Split DWARF: the linker sees skeletons, units that say where their code is and which lines it came
 * from; their entries stayed behind in a .dwo file each, or were collected into one package, a .dwp
 * file beside the binary. DWARF 5, sections 3.1.2, 7.3.2 and 7.3.5; for DWARF 4, the GNU extension
 * that it was made from (https://gcc.gnu.org/wiki/DebugFission).
 */
#ifndef SPROF_SPLIT_UNITS_H
#define SPROF_SPLIT_UNITS_H

#include "symbolizer/dwarf/dwarf_file.h"

struct dwarf_package;

/* Opens the package of a file whose roots show skeletons. NULL where it has none. */
struct dwarf_package *dwarf_package_open(const struct dwarf_file *file);
/* A view for another thread, as dwarf_file_share(). NULL gives NULL. */
struct dwarf_package *dwarf_package_share(const struct dwarf_package *package);
/* As dwarf_file_trim(). */
void dwarf_package_trim(struct dwarf_package *package);
void dwarf_package_free(struct dwarf_package *package);

/*
 * Loads the entries that were split off from a loaded skeleton: from the package, or NULL, or from the
 * .dwo file that the skeleton names. NULL where they are not found, which the skeleton's file counts. Give the result to dwarf_split_close() before the next is opened; what
 * was described of it stays.
 */
struct dwarf_unit *dwarf_split_open(struct dwarf_unit *skeleton,
				    const struct dwarf_package *package);
void dwarf_split_close(struct dwarf_unit *split);

#endif
