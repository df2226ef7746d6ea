/*
 * The folder into which one recorder at a time, by a lock, writes segments, and where it deletes
 * those that are too old or take too much room. Only regular files with names of segments are
 * deleted, and no link is followed.
 *
 *	DIR/sprof-....data	segments
 *	DIR/names/		names_folder.h
 *	DIR/kept/		second names of segments that are never deleted, and their names
 *	DIR/lock		locked by the recorder, whose number is in it
 */
#ifndef SPROF_FOLDER_H
#define SPROF_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/segments/segment_name.h"

#define NAMES_FOLDER "names"
#define KEPT_FOLDER "kept"

struct folder;

struct folder_opts {
	const char *path;
	uint64_t keep_ns, max_bytes; /* as in struct retention */
};

/*
 * Makes the folder where it is missing, locks it and looks for segments of earlier recorders. 0 or
 * -errno, not reported: -EWOULDBLOCK where another recorder has it, with its number or 0 in
 * *ret_owner; -EPERM where it belongs to another user, or others may write to it.
 */
int folder_open(const struct folder_opts *opts, struct folder **ret_folder, pid_t *ret_owner);
void folder_free(struct folder *f); /* NULL is fine */

/*
 * The descriptor of the folder; -1 while it is gone. A forked process that outlives the recorder
 * calls folder_unlock().
 */
int folder_fd(const struct folder *f);
void folder_unlock(struct folder *f);

/* Opens the names in a folder of segments, for names_folder.h. A descriptor or -errno. */
int folder_open_names(int folder);

/*
 * Creates the file of a segment that begins at that time of day, or some milliseconds later if the
 * name is taken. Returns its descriptor and name, or -errno. Makes and locks the folder again if it
 * was deleted or replaced.
 */
int folder_create_segment(struct folder *f, uint64_t realtime_ns, char name[SEGMENT_NAME_SIZE]);
/* Tells that a segment has ended: it may be deleted from now on. `now_ns` is CLOCK_BOOTTIME. */
void folder_end_segment(struct folder *f, const char *name, uint64_t size_bytes, int64_t now_ns);
/* Measures an ended segment again: its size has changed with its names. */
void folder_measure_segment(struct folder *f, const char *name);
/* Measures the folder of names again, and deletes names that are not needed any more. */
void folder_tidy_names(struct folder *f, int64_t now_ns);
/*
 * Deletes segments that are not to be kept, or the oldest one if there are none and `one_more`,
 * where a disk is full. `open_bytes` is the size of the segment that is being written. One that
 * cannot be deleted is reported, once for each reason, and tried again next time; with `one_more`
 * the next younger one is deleted in its place. Returns how many were deleted.
 */
size_t folder_prune(struct folder *f, int64_t now_ns, uint64_t open_bytes, bool one_more);
/*
 * Keeps segments that ended at `since_ns` or later for good, with the present names: by a second
 * link in KEPT_FOLDER, or moved there on a file system without links. The newest come first, as
 * long as KEPT_FOLDER has at most `max_bytes` (0: no limit); *ret_full: some had no room. Returns
 * how many were not kept before, or -errno.
 */
int folder_keep(struct folder *f, int64_t since_ns, uint64_t max_bytes, bool *ret_full);
/* Keeps names that were written since then, too. 0 or -errno. */
int folder_keep_names(struct folder *f);
/* Is the path still the folder that was opened? */
bool folder_is_there(const struct folder *f);

#endif
