/* Reading and writing differ only in what the end of a file means. */
#include "core/base/full_io.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

/* What to do after a call returned n. > 0: go on behind n bytes; 0: call again; < 0: give up. */
static ssize_t moved(ssize_t n, int err_at_end)
{
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n ? n : -err_at_end;
}

int full_read_at(int fd, void *to, size_t size, uint64_t offset)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, (char *)to + at, size - at, (off_t)(offset + at));

		n = moved(n, EBADMSG);
		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	return 0;
}

int full_write(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = moved(write(fd, (const char *)data + at, size - at), EIO);

		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	return 0;
}

int full_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = pwrite(fd, (const char *)data + at, size - at, (off_t)(offset + at));

		n = moved(n, EIO);
		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	return 0;
}
