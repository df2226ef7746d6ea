/*
 * A target controls what lies at its paths: opening goes through safe_open.h, and the owner of the
 * file is checked on the descriptor.
 */
#include "core/untrusted/target_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/rights/safe_open.h"
#include "core/untrusted/target_mounts.h"

#define TARGET_FILE_MAX (4ull << 30) /* bytes; the readers have smaller limits of their own */

/* Reads the last number of a line: NSpid has an id per namespace, the innermost last. */
static bool last_number_of(const char *text, const char *key, uint32_t *ret_number)
{
	const char *line = strstr(text, key), *end;
	unsigned long number = 0;
	bool found = false;

	if (!line)
		return false;
	line += strlen(key);
	for (end = line; *line && *line != '\n'; line = end) {
		number = strtoul(line, (char **)&end, 10);
		if (end == line)
			break;
		found = true;
	}
	if (found)
		*ret_number = (uint32_t)number;
	return found;
}

uint32_t target_file_pid_inside(uint32_t pid)
{
	char status[8192];
	uint32_t inside = pid;

	if (!proc_status_text((pid_t)pid, status, sizeof(status)))
		last_number_of(status, "\nNSpid:", &inside);
	return inside;
}

/* No symbolic link on the path may lead out of the process's root. */
static int open_in_root(uint32_t pid, const char *path)
{
	int root = target_mounts_open_root((pid_t)pid), fd;

	if (root < 0)
		return root;
	fd = safe_open_in_root_no_link(root, path, TARGET_FILE_MAX);
	close(root);
	return fd;
}

static bool is_trusted(int fd, uint32_t pid)
{
	struct stat file, process;
	char path[64];

	/* A file with several links is refused: one may be another user's. */
	if (fstat(fd, &file) || file.st_nlink > 1)
		return false;
	if (file.st_uid == 0 || file.st_uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !stat(path, &process) && process.st_uid == file.st_uid;
}

static int check(int fd, uint32_t pid, const char *path)
{
	if (fd < 0 || is_trusted(fd, pid))
		return fd;
	log_warning("'%s' is not used: it is not a regular file of the process's user", path);
	close(fd);
	return -EPERM;
}

int target_file_open(uint32_t pid, const char *path)
{
	return check(open_in_root(pid, path), pid, path);
}

int target_file_open_in_our_root(uint32_t pid, const char *path)
{
	return check(safe_open_no_link(path, TARGET_FILE_MAX), pid, path);
}
