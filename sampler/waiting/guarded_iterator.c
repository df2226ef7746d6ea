/*
 * The child has the iterator and its end of the pipe and no other file of the recorder's: one that
 * is left behind in the kernel would keep them open. It is forked from a process that has threads,
 * so it uses system calls only.
 */
#include "sampler/waiting/guarded_iterator.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/proc_status.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define FIRST_FREE 5u
#define LOOK_MS 20
#define LONGEST_NS 30000000000ull /* of a child that does not sleep but gets no CPU */

/* ---- the child */

bool guarded_iterator_goes_on(ssize_t n)
{
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static _Noreturn void copy(int iterator, int to, pid_t parent)
{
	char piece[8192];
	ssize_t n;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	/* dup2() of a descriptor that is below may overwrite the other one: both go up first. */
	iterator = fcntl(iterator, F_DUPFD, (int)FIRST_FREE);
	to = fcntl(to, F_DUPFD, (int)FIRST_FREE);
	if (dup2(iterator, 3) < 0 || dup2(to, 4) < 0)
		_exit(1);
	if (syscall(SYS_close_range, FIRST_FREE, ~0u, 0u))
		for (int fd = (int)FIRST_FREE; fd < 4096; fd++)
			close(fd);
	while (guarded_iterator_goes_on(n = read(3, piece, sizeof(piece)))) {
		for (ssize_t done = 0, part; done < n; done += part) {
			part = write(4, piece + done, (size_t)(n - done));
			if (part <= 0)
				_exit(1);
		}
	}
	_exit(n ? 1 : 0);
}

/* ---- the recorder */

static bool sleeps(pid_t child)
{
	char text[512], *end;

	proc_text(text, sizeof(text), "/proc/%d/stat", (int)child);
	end = strrchr(text, ')');
	return !end || strncmp(end, ") R", 3) != 0;
}

/* Waits until something can be read from the pipe, also its end. 0, -ETIMEDOUT or -errno. */
static int await(int from, pid_t child, uint64_t *left_ns, uint64_t until_ns)
{
	struct pollfd ready = { .fd = from, .events = POLLIN };

	for (;;) {
		uint64_t began = monotonic_ns(), passed;
		int n = poll(&ready, 1, LOOK_MS);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		passed = monotonic_ns() - began;
		if (sleeps(child))
			*left_ns -= passed < *left_ns ? passed : *left_ns;
		if (!*left_ns || monotonic_ns() > until_ns)
			return -ETIMEDOUT;
	}
}

/* A child that is stuck may not end before its target does; it is not waited for then. */
static int end_of(pid_t child, int err)
{
	int status = 0;

	if (err)
		kill(child, SIGKILL);
	if (waitpid(child, &status, err ? WNOHANG : 0) == child && !err && status)
		err = -EIO;
	return err;
}

int guarded_iterator_read(int iterator, uint64_t limit_ns,
			  void (*take)(void *context, const void *bytes, size_t size),
			  void *context)
{
	uint64_t left_ns = limit_ns, until_ns = monotonic_ns() + LONGEST_NS;
	pid_t own = getpid(), child;
	char piece[65536];
	int ends[2], err;
	ssize_t n = 1;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		copy(iterator, ends[1], own);
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	while (!err && n > 0) {
		err = await(ends[0], child, &left_ns, until_ns);
		n = err ? 0 : read(ends[0], piece, sizeof(piece));
		if (n < 0)
			err = -errno;
		else if (n)
			take(context, piece, (size_t)n);
	}
	close(ends[0]);
	return child > 0 ? end_of(child, err) : err;
}
