/*
 * A Unix SOCK_SEQPACKET socket (unix(7)): messages keep their borders, and a hang-up is noticed. A
 * message without descriptors means "look at control"; one with two brings unwind rows.
 */
#include "gpu/agent/link.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/stack/walk_map.h"

#define LAST_LOOK_MS 1000

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* "@name" is abstract: its length excludes the NUL, that of a path includes it. */
static socklen_t fill_address(struct sockaddr_un *a, const char *name)
{
	size_t length = strlen(name);

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!length || length >= sizeof(a->sun_path))
		return 0;
	memcpy(a->sun_path, name, length);
	if (name[0] == '@')
		a->sun_path[0] = 0;
	else
		length++;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

int link_connect(void)
{
	const char *name = getenv(GPU_ENV_SOCKET);
	struct sockaddr_un address;
	socklen_t length = name ? fill_address(&address, name) : 0;
	int fd;

	if (!length)
		return -ENOENT;
	fd = new_socket();
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int link_listen(void)
{
	struct text name = { .length = 0 };
	struct sockaddr_un address;
	socklen_t length;
	int fd = new_socket();

	text_add(&name, "@" GPU_SOCKET_PREFIX);
	text_add_number(&name, (uint64_t)getpid());
	length = fill_address(&address, name.bytes);
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 1)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int link_accept(int listener)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != geteuid())) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

void link_hang_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[16];

	shutdown(fd, SHUT_WR);
	while (poll(&p, 1, LAST_LOOK_MS) > 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	close(fd);
}

int link_send_region(int fd)
{
	struct gpu_hello hello = {
		.magic = GPU_REGION_MAGIC,
		.version = GPU_REGION_VERSION,
		.pid = agent.region->pid,
		.region_bytes = agent.region->region_bytes,
		.memfd = agent.region_fd,
	};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec part = { &hello, sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &agent.region_fd, sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) == sizeof(hello) ? 0 : -errno;
}

/*
 * Receives a message: 1 without descriptors, 2 with some. Two are the arena and the space of
 * unwind rows.
 */
static ssize_t receive(int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	char bytes[16];
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	int fds[2];

	if (n <= 0)
		return n;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 1;
	memcpy(fds, CMSG_DATA(c), sizeof(fds));
	if (c->cmsg_len == CMSG_LEN(sizeof(fds))) {
		walk_map_set(fds[0], fds[1]);
		close(fds[1]);
	}
	close(fds[0]);
	return 2;
}

int link_wait(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, timeout_ms) <= 0)
		return 0;
	n = receive(fd);
	if (n > 0)
		return n == 1;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
}
