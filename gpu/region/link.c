/*
 * A Unix SOCK_SEQPACKET socket with an abstract name (unix(7)). The peer's user and pid come from
 * SO_PEERCRED, never from what it says.
 */
#include "gpu/region/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/rights/privileges.h"
#include "core/untrusted/target_memfd.h"
#include "gpu/region/shared_region.h"

#define HELLO_MS 1000

static socklen_t fill_address(struct sockaddr_un *a, const char *name)
{
	size_t length = strlen(name);

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(a->sun_path + 1, name, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int gpu_link_listen(char *ret_name)
{
	struct sockaddr_un address;
	uint64_t random;
	socklen_t length;
	int fd;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(ret_name, GPU_LINK_NAME_SIZE, "@sprof-gpu-%d-%016llx", (int)getpid(),
		 (unsigned long long)random);
	length = fill_address(&address, ret_name + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 64)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* A message's descriptors are ours now: closes them; a single one is returned instead. */
static int only_descriptor(struct msghdr *message)
{
	int kept = -1, nr = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, (char *)c + at, sizeof(fd));
			if (nr++)
				close(fd);
			else
				kept = fd;
		}
	}
	if (nr == 1 && !(message->msg_flags & MSG_CTRUNC))
		return kept;
	if (nr)
		close(kept);
	return -EPROTO;
}

/*
 * May a descriptor be received from the peer? From our own user and from root, and from others only
 * if there is no other way (target_memfd.h).
 */
static bool may_send_descriptors(int fd)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) &&
	       (!cred.uid || cred.uid == geteuid() || !privileges_have(CAP_SYS_PTRACE));
}

/*
 * Receives the hello, and opens the region: the descriptor that came with it, or the peer's own.
 * Returns its descriptor; -EAGAIN: the hello has not come yet. The kernel drops descriptors that
 * are not asked for, without the wait that close(2) can be.
 */
static int receive_hello(int fd, pid_t pid)
{
	bool asked = may_send_descriptors(fd);
	struct gpu_hello hello;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { &hello, sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = asked ? &control : NULL,
		.msg_controllen = asked ? sizeof(control) : 0,
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	bool is_hello;
	int memfd = -1;

	if (n < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
	if (asked)
		memfd = only_descriptor(&message);
	if (asked && memfd < 0)
		return memfd;
	is_hello = n == sizeof(hello) && hello.magic == GPU_REGION_MAGIC &&
		   hello.version == GPU_REGION_VERSION;
	if (is_hello)
		return asked ? memfd : target_memfd_open(pid, hello.memfd);
	if (asked)
		close(memfd);
	return -EPROTO;
}

int gpu_link_meet(int fd, pid_t pid, struct gpu_peer *ret)
{
	struct gpu_peer peer = { .fd = fd, .pid = pid };
	int memfd = receive_hello(fd, pid), err;

	if (memfd < 0)
		return memfd;
	err = shared_region_open(memfd, &peer.region);
	close(memfd);
	if (err)
		return err;
	peer.header = shared_region_written_header(peer.region);
	*ret = peer;
	return 0;
}

int gpu_link_accept(int listener, pid_t *ret_pid, uid_t *ret_uid)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)) {
		close(fd);
		return -EPROTO;
	}
	*ret_pid = cred.pid;
	*ret_uid = cred.uid;
	return fd;
}

/* Does the socket of that name belong to the process, and not to one that has taken the name? */
static bool is_of(int fd, pid_t pid)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) && cred.pid == pid &&
	       (!geteuid() || cred.uid == geteuid());
}

int gpu_link_connect(pid_t pid, struct gpu_peer *ret_peer)
{
	struct pollfd ready = { .events = POLLIN };
	char name[GPU_LINK_NAME_SIZE];
	struct sockaddr_un address;
	socklen_t length;
	int err;

	snprintf(name, sizeof(name), GPU_SOCKET_PREFIX "%d", (int)pid);
	length = fill_address(&address, name);
	ready.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ready.fd < 0)
		return -errno;
	if (connect(ready.fd, (struct sockaddr *)&address, length))
		err = -errno;
	else if (!is_of(ready.fd, pid))
		err = -EPERM;
	else if (poll(&ready, 1, HELLO_MS) <= 0)
		err = -ETIMEDOUT;
	else
		err = gpu_link_meet(ready.fd, pid, ret_peer);
	if (err)
		close(ready.fd);
	return err;
}

int gpu_link_send_rows(const struct gpu_peer *peer, int arena_fd, int space_fd)
{
	const int fds[2] = { arena_fd, space_fd };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fds)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	char byte = 'r';
	struct iovec part = { &byte, 1 };
	const struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int gpu_link_control(const struct gpu_peer *peer, enum gpu_control control,
		     const struct gpu_config *config)
{
	if (config)
		peer->header->config = *config;
	__atomic_store_n(&peer->header->control, control, __ATOMIC_RELEASE);
	return send(peer->fd, "c", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

uint32_t gpu_link_state(const struct gpu_peer *peer)
{
	return __atomic_load_n(&peer->header->state, __ATOMIC_ACQUIRE);
}

bool gpu_link_is_gone(const struct gpu_peer *peer)
{
	char byte;
	ssize_t n = recv(peer->fd, &byte, 1, MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void gpu_link_let_go(const struct gpu_peer *peer)
{
	shutdown(peer->fd, SHUT_RDWR);
}

void gpu_link_close(struct gpu_peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
}
