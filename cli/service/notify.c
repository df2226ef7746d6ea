/*
 * The protocol, which systemd keeps stable, is a datagram of lines. The socket never blocks: a busy
 * service manager must not stop a recording.
 */
#include "cli/service/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/log.h"

/* `name` is a path, or an @ and an abstract name. 0 or -errno. */
static int connect_to(const char *name, int *ret_fd)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	int fd;

	if ((name[0] != '/' && name[0] != '@') || length >= sizeof(to.sun_path))
		return -EINVAL;
	memcpy(to.sun_path, name, length);
	if (name[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length))) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static uint64_t read_watchdog(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!us || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(us, NULL, 10) * 1000;
}

void notify_init(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int err;

	*n = (struct notify){ .fd = -1 };
	if (!name || !*name)
		return;
	err = connect_to(name, &n->fd);
	if (err)
		log_warning("the service manager's socket '%s' cannot be used: %s", name,
			    strerror(-err));
	else
		n->watchdog_ns = read_watchdog();
}

void notify_fini(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void notify_send(const struct notify *n, const char *text)
{
	if (n->fd >= 0 && send(n->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		log_debug("the service manager does not listen: %s", strerror(errno));
}

void notify_round(struct notify *n, uint64_t now_ns)
{
	if (n->fd < 0 || !n->watchdog_ns || now_ns < n->next_ns)
		return;
	n->next_ns = now_ns + n->watchdog_ns / 2;
	notify_send(n, "WATCHDOG=1");
}
