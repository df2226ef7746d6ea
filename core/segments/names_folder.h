/*
 * Names of frames, kept once per file beside the segments whose frames they name: DIR/names/HEX,
 * where HEX is the build-id and the inode; a build-id alone could be forged. Such a file is a
 * recording without samples: frames of that one ELF file, and their names. A frame without a name
 * in it was looked up and has none.
 *
 * A second module of such a file begins_runs: the names of each of its frames hold for all
 * addresses up to the next one; a frame without a name ends a run, and nothing is known behind it.
 */
#ifndef SPROF_NAMES_FOLDER_H
#define SPROF_NAMES_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_module;

/* Are frames of this module named beside the segment? */
bool names_folder_has(const struct profile_module *module);

/*
 * Names frames of `p` without a name, in modules with a build-id, if the folder `names` (a
 * descriptor) has their names. known[], NULL or one for each frame, is set for frames that were
 * looked up before, even if they have no name; files with names of `p` are marked as used then.
 */
void names_folder_read(int names, struct profile *p, bool *known);

/*
 * Adds the frames of `p` in modules with a build-id to the folder. Files that would not change are
 * only marked as used. 0, or -errno of the first file that could not be written.
 */
int names_folder_write(int names, const struct profile *p);

#endif
