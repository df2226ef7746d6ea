/*
 * Three pipes join the processes: `control` goes from the recorder to the reader, requests go from
 * the reader to the sender, and `ready` tells the recorder that the sender has what it needs. Both
 * children close all other descriptors of the recorder.
 */
#include "cli/push/push_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/push/push_follow.h"
#include "cli/push/push_record_opts.h"
#include "cli/push/push_summary.h"
#include "cli/push/request_pipe.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/untrusted/remote_read.h"
#include "output/push/pusher.h"

#define LOWEST_PRIORITY 19
#define FINISH_MS 30000 /* for names and the spool, besides requests */

struct push_child {
	const struct push_record_opts *opts;
	pid_t pid;   /* 0: the sender has ended */
	int control; /* writing to it never waits; -1: closed */
	bool is_behind;
};

enum { CONTROL = 3, READY = 4 }; /* descriptors of the sender */

/* ---- in the children */

/* The terminal sends ^C to all processes, but what was recorded until then must still be sent. */
static void outlive_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
}

static void keep_descriptors(int control, int ready)
{
	/* Each may have the number that the other one gets. */
	int c = fcntl(control, F_DUPFD, 16), r = fcntl(ready, F_DUPFD, 16);

	if (c < 0 || r < 0 || dup2(c, CONTROL) < 0 || dup2(r, READY) < 0 ||
	    syscall(SYS_close_range, READY + 1u, ~0u, 0))
		_exit(1);
	fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
	fcntl(READY, F_SETFD, FD_CLOEXEC);
}

/* Starts the reader. Returns the pipe from which to read requests, or -errno. */
static int start_reader(const struct push_record_opts *opts, pid_t *ret_reader)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ret_reader = fork();
	if (!*ret_reader) {
		close(ends[0]);
		close(READY);
		_exit(push_follow(opts, CONTROL, ends[1]));
	}
	close(ends[1]);
	close(CONTROL);
	if (*ret_reader > 0)
		return ends[0];
	close(ends[0]);
	return -EAGAIN;
}

/* Returns the exit status: 1 if something is lost. */
static int send_all(const struct push_record_opts *opts)
{
	struct push_opts sender = opts->opts;
	struct pusher *pusher;
	int status = 0, fd, err;
	pid_t reader = -1;

	if (sender.spool)
		sender.retry_ms = 0; /* the next interval and the end try again */

	fd = start_reader(opts, &reader);
	privileges_drop();
	if (fd < 0) {
		log_error(-fd, "start the process that reads the recording");
		return 1;
	}
	if (push_opts_open(&sender, &pusher))
		return 1;
	if (full_write(READY, "", 1))
		return 1;
	close(READY);
	err = request_pipe_send(fd, pusher);
	pusher_send_spool(pusher);
	if (push_summary(&sender, pusher) == -EIO)
		err = -EIO;
	pusher_close(pusher);
	if (waitpid(reader, &status, 0) < 0 || status)
		err = -EIO;
	return err ? 1 : 0;
}

/* ---- in the recorder */

static int start(struct push_child *c, int *ret_ready)
{
	int control[2], ready[2], err;

	if (pipe2(control, O_CLOEXEC))
		return -errno;
	if (pipe2(ready, O_CLOEXEC)) {
		err = -errno;
		close(control[0]);
		close(control[1]);
		return err;
	}
	c->pid = fork();
	if (!c->pid) {
		outlive_signals();
		/* Its descriptors are about to be closed, and no process can have this one wait. */
		remote_read_leave();
		setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY);
		keep_descriptors(control[0], ready[1]);
		_exit(send_all(c->opts));
	}
	err = c->pid < 0 ? -errno : 0;
	close(control[0]);
	close(ready[1]);
	c->control = control[1];
	fcntl(c->control, F_SETFL, O_WRONLY | O_NONBLOCK);
	*ret_ready = ready[0];
	return err;
}

int push_child_new(const struct push_record_opts *opts, struct push_child **ret_child)
{
	struct push_child *c = xcalloc(1, sizeof(*c));
	int ready = -1, err;
	char byte;

	*c = (struct push_child){ .opts = opts, .control = -1 };
	err = start(c, &ready);
	if (err) {
		c->pid = 0;
		log_error(-err, "start a process that pushes");
	} else {
		ssize_t n;

		do
			n = read(ready, &byte, 1);
		while (n < 0 && errno == EINTR);
		err = n == 1 ? 0 : -ECHILD; /* the child has reported why */
	}
	if (ready >= 0)
		close(ready);
	if (err) {
		push_child_free(c);
		return err;
	}
	*ret_child = c;
	return 0;
}

static void close_control(struct push_child *c)
{
	if (c->control >= 0)
		close(c->control);
	c->control = -1;
}

/* A path and its NUL are at most PIPE_BUF bytes, so the pipe takes all of it or nothing. */
void push_child_begin(struct push_child *c, const char *path)
{
	int err;

	if (!c || c->control < 0)
		return;
	err = full_write_pipe(c->control, path, strlen(path) + 1);
	if (err == -EAGAIN && !c->is_behind)
		log_warning("pushing is far behind: '%s' is not pushed", path);
	c->is_behind = err == -EAGAIN;
	if (err && err != -EAGAIN) {
		log_warning("the process that pushes has ended: nothing more is pushed");
		close_control(c);
	}
}

static bool wait_for(struct push_child *c, uint64_t until_ns, int *ret_status)
{
	const struct timespec pause = { 0, 10000000 };
	pid_t ended;

	while (!(ended = waitpid(c->pid, ret_status, WNOHANG)) && monotonic_ns() < until_ns)
		nanosleep(&pause, NULL);
	if (ended)
		c->pid = 0;
	return ended;
}

int push_child_end(struct push_child *c)
{
	uint64_t limit_ms;
	int status = 0;

	if (!c)
		return 0;
	close_control(c);
	/* Two requests: the one under way, and the last one. */
	limit_ms = 2ull * (c->opts->opts.timeout_ms + c->opts->opts.retry_ms) + FINISH_MS;
	if (!wait_for(c, monotonic_ns() + limit_ms * 1000000, &status)) {
		log_warning("pushing takes too long: the rest is not sent");
		return -EIO;
	}
	return status ? -EIO : 0;
}

void push_child_free(struct push_child *c)
{
	int status;

	if (!c)
		return;
	close_control(c);
	/* Without a recording the reader ends when `control` does, and the sender after it. */
	if (c->pid && !wait_for(c, monotonic_ns() + 2000000000u, &status)) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &status, 0);
	}
	free(c);
}
