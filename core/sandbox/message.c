/* Descriptors come in a message's control part, which is read only if the caller wants some. */
#include "core/sandbox/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"

/* Room for the descriptors of one message, aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
};

int message_pair(int ret_sockets[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_sockets) ? -errno : 0;
}

int message_send(int socket, const void *data, size_t size, const int *fds, size_t nr_fds)
{
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t n;

	if (nr_fds > MESSAGE_FDS_MAX)
		return -EINVAL;
	if (nr_fds) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(nr_fds * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), fds, nr_fds * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
	}
	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *message, int *ret_fds, size_t nr_fds)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fds[MESSAGE_FDS_MAX];
	size_t nr;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), nr * sizeof(int));
	for (size_t i = 0; i < nr; i++) {
		if (i < nr_fds)
			ret_fds[i] = fds[i];
		else
			close(fds[i]);
	}
}

ssize_t message_receive(int socket, void *data, size_t size, int *ret_fds, size_t nr_fds)
{
	struct iovec part = { data, size };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	for (size_t i = 0; i < nr_fds; i++)
		ret_fds[i] = -1;
	if (nr_fds) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	if (nr_fds)
		take_fds(&message, ret_fds, nr_fds);
	if (!(message.msg_flags & MSG_TRUNC))
		return n;
	for (size_t i = 0; i < nr_fds; i++) {
		if (ret_fds[i] >= 0)
			close(ret_fds[i]);
		ret_fds[i] = -1;
	}
	return -EMSGSIZE;
}

int message_wait(int socket, int cancel_fd, int timeout_ms)
{
	uint64_t end = monotonic_ms() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms);
	struct pollfd wanted[] = { { .fd = socket, .events = POLLIN },
				   { .fd = cancel_fd, .events = POLLIN } };

	for (;;) {
		uint64_t now = monotonic_ms();
		int left = timeout_ms < 0 ? -1 : now >= end ? 0 : (int)(end - now);
		int n = poll(wanted, 2, left);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && wanted[1].revents)
			return -ECANCELED;
		if (n > 0)
			return 0;
		if (!left)
			return -ETIMEDOUT;
	}
}
