/* ioctl_ns(2) tells the owner of a user namespace, and the namespace around it. */
#include "sampler/selection/process_user.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"

#define MAX_NESTED 33 /* as many user namespaces as the kernel nests */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The owner of the namespace that lies directly inside ours and holds `fd`'s. Closes fd. */
static bool find_owner(int fd, const struct stat *own, uid_t *ret)
{
	bool found = false;

	for (int i = 0; i < MAX_NESTED && fd >= 0; i++) {
		int parent = ioctl(fd, NS_GET_PARENT);
		struct stat st;

		found = parent >= 0 && !fstat(parent, &st) && is_same(&st, own) &&
			!ioctl(fd, NS_GET_OWNER_UID, ret);
		close(fd);
		fd = parent;
		if (found)
			break;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static bool namespace_owner(pid_t pid, uid_t *ret)
{
	struct stat own, other;
	int fd = remote_open_file(pid, "ns/user", O_RDONLY);

	if (fd < 0)
		return false;
	if (stat("/proc/self/ns/user", &own) || fstat(fd, &other) || is_same(&own, &other)) {
		close(fd);
		return false;
	}
	return find_owner(fd, &own, ret);
}

uint32_t process_user(pid_t pid, uint32_t otherwise)
{
	char text[8192];
	const char *value;
	uid_t owner;

	if (proc_status_text(pid, text, sizeof(text)))
		return otherwise;
	value = proc_status_value(text, "Uid");
	if (!value)
		return otherwise;
	/* A namespace of root's, as container engines make them, separates users. */
	if (namespace_owner(pid, &owner) && owner)
		return owner;
	return (uint32_t)strtoul(value, NULL, 10);
}
