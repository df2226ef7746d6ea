/*
 * Files that were sampled and that no process maps any more. They stay open until their names are
 * looked up at the end of the recording, but only so many: a host that builds programs, runs and
 * deletes them would otherwise keep all of them on its disk.
 */
#ifndef SPROF_KEPT_FILES_H
#define SPROF_KEPT_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/target/mapped_file.h"

#define KEPT_FILES_MAX 1024
/* Of those that are deleted, which only we keep on the disk. */
#define KEPT_DELETED_MAX 256
#define KEPT_DELETED_BYTES (256ull << 20)

struct kept_file {
	uint32_t sink_id, user;
	int fd;
	struct mapped_root root; /* where its path has a meaning */
	char *path;
	uint64_t size_bytes;
	int deleted; /* its last link is gone */
};

struct kept_files {
	struct kept_file files[KEPT_FILES_MAX]; /* oldest first */
	size_t nr;
	uint64_t nr_dropped; /* deleted files that were let go, so that their names are lost */
};

/*
 * Takes the descriptor and the path over. Drops older files if there are too many, those of the
 * user that has the most.
 */
void kept_files_add(struct kept_files *kept, struct kept_file file);
/* To be called now and then: counts what was deleted meanwhile. */
void kept_files_check(struct kept_files *kept);
/* The file of that module, or NULL. */
const struct kept_file *kept_files_find(const struct kept_files *kept, uint32_t sink_id);
void kept_files_fini(struct kept_files *kept);

#endif
