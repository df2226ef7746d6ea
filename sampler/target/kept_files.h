/*
 * Files that were sampled and that no process maps any more. They stay open until their names are
 * looked up at the end of the recording, but only so many: a host that builds programs, runs and
 * deletes them would otherwise keep all of them on its disk.
 */
#ifndef SPROF_KEPT_FILES_H
#define SPROF_KEPT_FILES_H

#include <stddef.h>
#include <stdint.h>

#define KEPT_FILES_MAX 1024
/* Of those that are deleted, which only we keep on the disk. */
#define KEPT_DELETED_MAX 256
#define KEPT_DELETED_BYTES (256ull << 20)

struct kept_file {
	uint32_t sink_id, user;
	int fd;
	uint64_t size_bytes;
	int deleted; /* its last link is gone */
};

struct kept_files {
	struct kept_file files[KEPT_FILES_MAX]; /* oldest first */
	size_t nr;
	uint64_t nr_dropped; /* deleted files that were let go, so that their names are lost */
};

/* Takes the descriptor over; drops older files if there are too many, first of the same user. */
void kept_files_add(struct kept_files *kept, uint32_t sink_id, uint32_t user, int fd);
/* To be called now and then: counts what was deleted meanwhile. */
void kept_files_check(struct kept_files *kept);
/* The descriptor of that module, which stays ours; -1: there is none. */
int kept_files_find(const struct kept_files *kept, uint32_t sink_id);
void kept_files_fini(struct kept_files *kept);

#endif
