/*
 * Files and links in /proc/PID, opened by means of remote_read.c. A file is read whole before its
 * first line is handed out.
 */
#include "core/untrusted/remote_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"

#define MAX_FILE (64u << 20)

/* The text of a FILE, and how much of it was read. */
struct text {
	struct buffer buffer;
	size_t at;
};

static ssize_t text_read(void *cookie, char *to, size_t size)
{
	struct text *t = cookie;

	if (size > t->buffer.size - t->at)
		size = t->buffer.size - t->at;
	if (size)
		memcpy(to, t->buffer.data + t->at, size);
	t->at += size;
	return (ssize_t)size;
}

static int text_close(void *cookie)
{
	struct text *t = cookie;

	buffer_fini(&t->buffer);
	free(t);
	return 0;
}

FILE *remote_open(pid_t pid, const char *name)
{
	const cookie_io_functions_t functions = { .read = text_read, .close = text_close };
	struct text *t = xcalloc(1, sizeof(*t));
	int err = remote_file(pid, name, MAX_FILE, &t->buffer);
	FILE *f = err ? NULL : fopencookie(t, "r", functions);

	if (!f) {
		if (!err)
			err = -errno;
		text_close(t);
		errno = -err;
	}
	return f;
}

int remote_open_link(pid_t pid, const char *name)
{
	return remote_open_file(pid, name, O_PATH);
}

ssize_t remote_read_link(pid_t pid, const char *name, char *to, size_t size)
{
	int fd = remote_open_link(pid, name);
	char path[64];
	ssize_t n;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, size);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}
