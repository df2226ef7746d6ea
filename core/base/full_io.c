/* Reading and writing differ only in what the end of a file means. */
#include "core/base/full_io.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>
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

int full_write_pipe(int fd, const void *data, size_t size)
{
	const struct timespec no_time = { 0 };
	sigset_t signals, before, pending;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	err = full_write(fd, data, size);
	/* The signal of write(2) waits for this thread now. One that waited before is not ours. */
	if (err == -EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&signals, NULL, &no_time);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
