/*
 * The mount comes from /proc/self/fdinfo, which does not ask the file system. fstatfs(2) reaches
 * the file system below an overlay, but with the rights of the caller: a FUSE server that may not
 * be asked by them is not asked.
 */
#include "core/rights/own_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

bool mount_is_overlay(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

int mount_number(int fd)
{
	char path[48], *line = NULL;
	int number = -ENOENT;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (number < 0 && getline(&line, &size, f) > 0)
		if (sscanf(line, "mnt_id: %d", &number) != 1)
			number = -ENOENT;
	free(line);
	fclose(f);
	return number;
}

bool mount_is_listed(FILE *mountinfo, int number)
{
	char *line = NULL;
	bool found = false;
	size_t size = 0;

	while (!found && getline(&line, &size, mountinfo) > 0)
		found = strtol(line, NULL, 10) == number;
	free(line);
	return found;
}

/* A root that is no mount point, after chroot(2), is not listed: its mount is compared first. */
bool mount_is_own(int fd)
{
	int number = mount_number(fd), root = open("/", O_PATH | O_CLOEXEC);
	bool is_own = number >= 0 && root >= 0 && mount_number(root) == number;
	FILE *f;

	if (root >= 0)
		close(root);
	if (is_own || number < 0)
		return is_own;
	f = fopen("/proc/self/mountinfo", "re");
	if (!f)
		return false;
	is_own = mount_is_listed(f, number);
	fclose(f);
	return is_own;
}
