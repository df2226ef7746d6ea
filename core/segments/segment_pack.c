/*
 * The two files are exchanged, because a plain rename would bring back a segment that is deleted at
 * the same moment. A second link of the segment, made before that, leads to the old file, which is
 * just as complete.
 */
#include "core/segments/segment_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/recording/recfile.h"
#include "core/segments/segment_name.h"

/* The new file reaches the disk first: after a power failure it must not be empty. */
static int copy(int folder, int from, const char *next)
{
	int to = openat(folder, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (to < 0)
		return -errno;
	err = recfile_pack(from, to);
	if (!err && fdatasync(to))
		err = -errno;
	close(to);
	return err;
}

int segment_pack(int folder, const char *name)
{
	int from = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err;
	char next[SEGMENT_NAME_SIZE + 1];

	if (from < 0)
		return -errno;
	snprintf(next, sizeof(next), ".%s", name);
	unlinkat(folder, next, 0);
	err = copy(folder, from, next);
	if (!err && renameat2(folder, next, folder, name, RENAME_EXCHANGE))
		err = -errno;
	unlinkat(folder, next, 0); /* the old file, or one that is of no use */
	close(from);
	return err;
}
