/*
 * The folder that a recorder writes segments into: it alone, by a lock; where they are created,
 * and deleted when they are too old or take too much room. Only regular files with names of
 * segments are ever deleted, and nothing outside the folder is followed.
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
 * The folder itself; -1 while it is gone. In a forked process that outlives the recorder,
 * folder_unlock() closes the lock.
 */
int folder_fd(const struct folder *f);
void folder_unlock(struct folder *f);

/* Opens the names in a folder of segments, for names_folder.h. A descriptor or -errno. */
int folder_open_names(int folder);

/*
 * Creates the file of a segment that begins at that time of day; a name that is taken is passed
 * over, by milliseconds. Returns its descriptor and name, or -errno. A folder that was deleted, or
 * replaced by another one, is made and locked anew.
 */
int folder_create_segment(struct folder *f, uint64_t realtime_ns, char name[SEGMENT_NAME_SIZE]);
/* The segment has ended; from now on it may be deleted. `now_ns` is CLOCK_BOOTTIME. */
void folder_end_segment(struct folder *f, const char *name, uint64_t size_bytes, int64_t now_ns);
/* The names in the folder have grown: their size is to be looked at again. */
void folder_tidy_names(struct folder *f, int64_t now_ns);
/*
 * Deletes segments that are not to be kept, and one more if `one_more`, where a disk is full.
 * `open_bytes` is the size of the segment that is being written. Returns how many were deleted.
 */
size_t folder_prune(struct folder *f, int64_t now_ns, uint64_t open_bytes, bool one_more);
/*
 * Gives the segments that ended at `since_ns` or later, and the names that there are now, a second
 * name in KEPT_FOLDER, where they stay for good; where the file system has no links they are moved.
 * The newest come first, as long as KEPT_FOLDER has at most `max_bytes` (0: without a limit);
 * *ret_full: some had no room. Returns the number of those that were not kept before, or -errno.
 */
int folder_keep(struct folder *f, int64_t since_ns, uint64_t max_bytes, bool *ret_full);
/* Gives names that have come since then their second name there, too. 0 or -errno. */
int folder_keep_names(struct folder *f);
/* Is the path still the folder that was opened? */
bool folder_is_there(const struct folder *f);

#endif
