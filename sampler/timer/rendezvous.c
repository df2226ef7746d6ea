/* The socket of sampler/agent/rendezvous.h, the recorder's side. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampler/timer/timer.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/agent/rendezvous.h"

#define BACKLOG 1024
#define MAX_GENERATIONS 64

struct timer_meeting {
	int fd, settle_fd, busy_fd;
	uint64_t name;
};

/* 0 or -errno. */
static int listen_at(uint64_t name, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + MEETING_NAME_SIZE;
	int fd, err;

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, MEETING_PREFIX "%016llx",
		 (unsigned long long)name);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, BACKLOG)) {
		err = -errno;
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

int timer_meeting_new(struct timer_meeting **ret)
{
	struct timer_meeting *m = xcalloc(1, sizeof(*m));
	int err;

	m->fd = m->settle_fd = m->busy_fd = -1;
	if (getrandom(&m->name, sizeof(m->name), 0) != sizeof(m->name))
		m->name = monotonic_ns() * (uint64_t)getpid();
	err = listen_at(m->name, &m->fd);
	if (!err)
		err = listen_at(m->name ^ MEETING_SETTLE, &m->settle_fd);
	if (!err)
		err = listen_at(m->name ^ MEETING_BUSY, &m->busy_fd);
	if (err) {
		timer_meeting_free(m);
		return err;
	}
	*ret = m;
	return 0;
}

void timer_meeting_free(struct timer_meeting *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	if (m->settle_fd >= 0)
		close(m->settle_fd);
	if (m->busy_fd >= 0)
		close(m->busy_fd);
	free(m);
}

uint64_t timer_meeting_name(const struct timer_meeting *m)
{
	return m->name;
}

int timer_meeting_add_to_epoll(const struct timer_meeting *m, int epoll_fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, m->fd, &e) ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, m->settle_fd, &e) ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, m->busy_fd, &e))
		return -errno;
	return 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *end;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	/* the name, in parentheses, may hold anything */
	if (fgets(line, sizeof(line), f) && (end = strrchr(line, ')')) &&
	    sscanf(end, ") %*c %d", &parent) != 1)
		parent = 0;
	fclose(f);
	return parent;
}

static bool is_known(const struct source *s, pid_t pid)
{
	if (pid == s->launched || timer_wake_expects(s, pid))
		return true;
	for (const struct timer_process *p = s->processes; p; p = p->next)
		if (p->maps.pid == pid)
			return true;
	return false;
}

/* Our own programs, and whatever a target has started, as whoever it runs. */
static bool is_welcome(const struct source *s, const struct ucred *who)
{
	pid_t pid = who->pid;

	if (pid <= 0)
		return false;
	if (who->uid == geteuid())
		return true;
	for (int i = 0; i < MAX_GENERATIONS && pid > 1; i++) {
		if (is_known(s, pid))
			return true;
		pid = parent_of(pid);
	}
	return false;
}

static int answer(int fd, int error, const int *fds, size_t nr_fds)
{
	struct meeting_message message = {
		.magic = MEETING_MAGIC,
		.version = REGION_VERSION,
		.error = error,
	};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { &message, sizeof(message) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (nr_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nr_fds * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void let_in(struct source *s, int fd)
{
	struct timer_process *p = NULL;
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);
	int err, fds[2];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return;
	err = s->stopping || !is_welcome(s, &who) ? -EPERM : timer_add_process(s, who.pid, &p);
	if (err) {
		answer(fd, -err, NULL, 0);
		return;
	}
	/* Who was woken has threads already. */
	if (timer_wake_expects(s, who.pid))
		timer_want_threads(s, p);
	fds[0] = p->region.fd;
	fds[1] = walk_arena_fd(s->arena);
	err = answer(fd, 0, fds, 2);
	if (err) {
		log_debug("process %d went before it was let in: %s", (int)who.pid, strerror(-err));
		timer_drop_process(s, p);
		return;
	}
	timer_wake_done(s, who.pid);
}

/* Who it is that has connected, known by his credentials. 0: not known. */
static pid_t accept_one(int listener, int *ret_fd)
{
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	*ret_fd = fd;
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return 0;
	return who.pid;
}

void timer_meeting_serve(struct timer_meeting *m, struct source *s)
{
	pid_t pid;
	int fd;

	while ((fd = accept4(m->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		let_in(s, fd);
		close(fd);
	}
	while ((pid = accept_one(m->settle_fd, &fd)), fd >= 0) {
		if (is_known(s, pid))
			timer_read_samples(s, UINT64_MAX);
		close(fd);
	}
	while ((pid = accept_one(m->busy_fd, &fd)), fd >= 0) {
		timer_wake_is_busy(s, pid);
		close(fd);
	}
}
