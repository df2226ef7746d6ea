/*
 * Names of frames, kept once per build-id beside the segments whose frames they name:
 * DIR/names/HEX, where HEX is the build-id. Such a file is a recording that holds frames of that
 * one file and what they are called, and no samples. A frame that is there without a name was
 * looked up and has none.
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
 * Names the frames of `p` that have no name and are in a module with a build-id, as far as the
 * names are there. `names` is a descriptor of the folder of names. known[], NULL or one for each
 * frame, is set where the frame was looked up before, also if it has no name.
 */
void names_folder_read(int names, struct profile *p, bool *known);

/*
 * Adds the frames of `p` in modules with a build-id to the names that are there. Names that have
 * not changed are only marked as used. 0, or -errno of the first file that could not be written.
 */
int names_folder_write(int names, const struct profile *p);

#endif
