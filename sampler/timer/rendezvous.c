/*
 * Three abstract sockets: a target connects to the first to be sampled, to the second to have its
 * samples read before its mappings change, to the third to say that another recorder has it. The
 * kernel tells who has connected (SO_PEERCRED).
 */
#include "sampler/timer/rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/timer/drain.h"
#include "sampler/target/admission.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/timer/wake.h"
#include "sampler/walk/walk_arena.h"

#define BACKLOG 1024
#define MAX_AT_ONCE 64 /* connections to a socket in one round; the others wait */

struct timer_rendezvous {
	int fd, settle_fd, busy_fd;
	uint64_t name;
};

/* 0 or -errno. */
static int listen_at(uint64_t name, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + RENDEZVOUS_NAME_SIZE;
	int fd, err;

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, RENDEZVOUS_PREFIX "%016llx",
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

int timer_rendezvous_new(struct timer_rendezvous **ret)
{
	struct timer_rendezvous *r = xcalloc(1, sizeof(*r));
	int err;

	r->fd = r->settle_fd = r->busy_fd = -1;
	if (getrandom(&r->name, sizeof(r->name), 0) != sizeof(r->name))
		r->name = monotonic_ns() * (uint64_t)getpid();
	err = listen_at(r->name, &r->fd);
	if (!err)
		err = listen_at(r->name ^ RENDEZVOUS_SETTLE, &r->settle_fd);
	if (!err)
		err = listen_at(r->name ^ RENDEZVOUS_BUSY, &r->busy_fd);
	if (err) {
		timer_rendezvous_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void timer_rendezvous_free(struct timer_rendezvous *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	if (r->settle_fd >= 0)
		close(r->settle_fd);
	if (r->busy_fd >= 0)
		close(r->busy_fd);
	free(r);
}

uint64_t timer_rendezvous_name(const struct timer_rendezvous *r)
{
	return r->name;
}

int timer_rendezvous_add_to_epoll(const struct timer_rendezvous *r, int epoll_fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, r->fd, &e) ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, r->settle_fd, &e) ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, r->busy_fd, &e))
		return -errno;
	return 0;
}

static bool is_known(const struct timer_reception *to, pid_t pid)
{
	return pid == to->processes->launched || timer_wake_expects(to->wake, pid) ||
	       timer_is_sampled(to->processes, pid);
}

/*
 * A process that we wait for may come in, what is sampled, and what has descended from it; under
 * no_children only the targets themselves.
 */
static bool is_welcome(const struct timer_reception *to, int fd, const struct ucred *peer)
{
	if (peer->pid <= 0)
		return false;
	if (is_known(to, peer->pid))
		return true;
	if (!to->processes->no_children)
		return admission_admits(to->admission, fd, peer->pid, peer->uid);
	admission_count_refusal(to->admission);
	return false;
}

static int answer(int fd, int error, const int *fds, size_t nr_fds)
{
	struct rendezvous_message message = {
		.magic = RENDEZVOUS_MAGIC,
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

static void let_in(const struct timer_reception *to, int fd)
{
	struct timer_processes *s = to->processes;
	struct timer_process *p = NULL;
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int err, fds[2];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return;
	err = s->stopping || !is_welcome(to, fd, &peer) ? -EPERM
							: timer_add_process(s, peer.pid, &p);
	if (err) {
		answer(fd, -err, NULL, 0);
		return;
	}
	/* A process that was woken may have more threads than the one that came. */
	if (timer_wake_expects(to->wake, peer.pid))
		timer_want_threads(s, p);
	fds[0] = p->region.fd;
	fds[1] = walk_arena_fd(s->publish.arena);
	err = answer(fd, 0, fds, 2);
	if (err) {
		log_debug("process %d left before it was let in: %s", (int)peer.pid,
			  strerror(-err));
		timer_drop_process(s, p);
		return;
	}
	timer_wake_done(to->wake, peer.pid);
}

/*
 * Accepts one connection; the process that has connected, or 0: not known. *ret_fd -1: there is
 * none.
 */
static pid_t accept_one(int listener, int *ret_fd)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	*ret_fd = fd;
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return 0;
	return peer.pid;
}

/* All who have come to have their samples read are served by one reading. */
static void settle(const struct timer_rendezvous *r, const struct timer_reception *to)
{
	int fds[MAX_AT_ONCE], nr = 0;
	bool wanted = false;

	while (nr < MAX_AT_ONCE) {
		pid_t pid = accept_one(r->settle_fd, &fds[nr]);

		if (fds[nr] < 0)
			break;
		wanted |= is_known(to, pid);
		nr++;
	}
	if (wanted)
		timer_drain_read(to->drain, UINT64_MAX);
	while (nr)
		close(fds[--nr]);
}

void timer_rendezvous_serve(struct timer_rendezvous *r, const struct timer_reception *to)
{
	int fd;

	for (int i = 0; i < MAX_AT_ONCE && (accept_one(r->fd, &fd), fd >= 0); i++) {
		let_in(to, fd);
		close(fd);
	}
	settle(r, to);
	for (int i = 0; i < MAX_AT_ONCE; i++) {
		pid_t pid = accept_one(r->busy_fd, &fd);

		if (fd < 0)
			break;
		timer_wake_is_busy(to->wake, pid);
		close(fd);
	}
}
