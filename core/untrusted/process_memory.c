/*
 * Reads by process_vm_readv(2), or by /proc/PID/mem where that is refused. Both stop at the first
 * byte that cannot be read.
 */
#include "core/untrusted/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int64_t read_file(pid_t pid, char *to, const struct iovec *ranges, unsigned long nr)
{
	int64_t got = 0;
	char path[32];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	for (unsigned long i = 0; i < nr; i++) {
		n = pread(fd, to + got, ranges[i].iov_len, (off_t)(uintptr_t)ranges[i].iov_base);
		if (n > 0)
			got += n;
		if (n != (ssize_t)ranges[i].iov_len)
			break;
	}
	if (!got && n <= 0)
		got = n < 0 && errno != EIO ? -errno : -EFAULT;
	close(fd);
	return got;
}

int64_t process_memory_read(pid_t pid, void *to, const struct iovec *ranges, unsigned long nr)
{
	struct iovec local = { to, 0 };
	ssize_t n;

	for (unsigned long i = 0; i < nr; i++)
		local.iov_len += ranges[i].iov_len;
	n = process_vm_readv(pid, &local, 1, ranges, nr, 0);
	if (n >= 0)
		return n;
	if (errno != EPERM && errno != ENOSYS)
		return -errno;
	return read_file(pid, to, ranges, nr);
}
