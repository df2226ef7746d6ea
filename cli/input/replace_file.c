/*
 * Writes a new file beside the old one and renames it. In a folder where others may write, such as
 * /tmp, they could put a link at a name that they guess: so the name is random and must be new.
 */
#include "cli/input/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/full_io.h"
#include "core/base/log.h"

static int write_and_close(int fd, const char *data, size_t size)
{
	int err = full_write(fd, data, size);

	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Opening a FIFO waits for a reader, which may never come: the user is told of the wait. */
static int open_device(const char *path)
{
	const int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
	int fd = open(path, flags | O_NONBLOCK);

	if (fd >= 0) { /* opened once: closing it would end the reader of a FIFO */
		fcntl(fd, F_SETFL, 0);
		return fd;
	}
	if (errno != ENXIO)
		return fd;
	log_info("waiting for a process to read '%s'", path);
	return open(path, flags);
}

/* The path may lead to a regular file by now, which must not be changed in place. */
static int write_to_device(const char *path, const void *data, size_t size)
{
	int fd = open_device(path);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || S_ISREG(st.st_mode)) {
		close(fd);
		return -EBUSY;
	}
	return write_and_close(fd, data, size);
}

/* A path in the same folder, on the heap; NULL if there are no random numbers. */
static char *random_neighbour(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return NULL;
	return xasprintf("%.*s.sprof-%016" PRIx64, slash ? (int)(slash + 1 - path) : 0, path,
			 number);
}

int replace_file(const char *path, const void *data, size_t size)
{
	struct stat st;
	char *temporary;
	int fd, err;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return write_to_device(path, data, size);
	temporary = random_neighbour(path);
	if (!temporary)
		return -EIO;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	err = fd < 0 ? -errno : write_and_close(fd, data, size);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err && fd >= 0)
		unlink(temporary);
	free(temporary);
	return err;
}
