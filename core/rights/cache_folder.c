/*
 * The folders are opened with the caller's rights. The one above ours may be reached through a
 * symbolic link, as its owner may keep it on another disk; ours may not.
 */
#include "core/rights/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/rights/own_folder.h"
#include "core/rights/privileges.h"

#define OURS "sprof"

/* The path of the folder above ours, on the heap; NULL: the environment names none. */
static char *path_above(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		return xstrdup(cache);
	return home && home[0] == '/' ? xasprintf("%s/.cache", home) : NULL;
}

/* Returns fd if the folder is the user's own, or closes it. `mask`: rights others must lack. */
static int check(int fd, mode_t mask, const char *path, char *why, size_t why_size)
{
	const char *reason = strerror(errno);
	int err = fd < 0 ? -errno : own_folder_check(fd, mask, &reason);

	if (!err)
		return fd;
	snprintf(why, why_size, "'%s': %s", path, reason);
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * The owner of the folder that contains `path` could put a link there. So root makes and follows
 * nothing in a user's home, which sudo may leave in $HOME.
 */
static int check_holder(const char *path, char *why, size_t why_size)
{
	char *holder = xstrdup(path), *end = holder + strlen(holder);
	struct stat st;
	int err = 0;

	while (end > holder && end[-1] == '/')
		end--;
	while (end > holder && end[-1] != '/')
		end--;
	*end = '\0'; /* "/" at least: the path is absolute */
	if (stat(*holder ? holder : "/", &st)) {
		err = -errno;
		snprintf(why, why_size, "'%s': %s", holder, strerror(-err));
	} else if (st.st_uid != geteuid() && st.st_uid != 0) {
		err = -EPERM;
		snprintf(why, why_size, "'%s' belongs to another user", holder);
	}
	free(holder);
	return err;
}

static int open_above(const char *path, char *why, size_t why_size)
{
	int err = check_holder(path, why, why_size);

	if (err)
		return err;
	mkdir(path, 0700);
	return check(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), S_IWGRP | S_IWOTH, path, why,
		     why_size);
}

static int open_ours(int above, const char *above_path, char *why, size_t why_size)
{
	char *path = xasprintf("%s/" OURS, above_path);
	int fd;

	mkdirat(above, OURS, 0700);
	fd = check(openat(above, OURS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		   S_IRWXG | S_IRWXO, path, why, why_size);
	free(path);
	return fd;
}

int cache_folder_open(char *why, size_t why_size)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);
	char *path = path_above();
	int above = -ENOENT, fd;

	if (path)
		above = open_above(path, why, why_size);
	else
		snprintf(why, why_size, "neither XDG_CACHE_HOME nor HOME is set");
	fd = above;
	if (above >= 0) {
		fd = open_ours(above, path, why, why_size);
		close(above);
	}
	free(path);
	privileges_use(before);
	return fd;
}
