/* An O_PATH descriptor can be closed without a request to the file system (open(2)). */
#include "core/untrusted/target_memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/rights/own_mounts.h"

/* Compares mounts: all memfds are on one internal mount of the kernel. */
static bool is_memfd(int path_fd)
{
	int own = memfd_create("sprof", MFD_CLOEXEC);
	int mount = own < 0 ? -errno : mount_number(own);
	bool is = mount >= 0 && mount == mount_number(path_fd);

	if (own >= 0)
		close(own);
	return is;
}

int target_memfd_open(pid_t pid, int number)
{
	char path[48];
	int path_fd, fd = -EPERM;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	if (is_memfd(path_fd)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}
