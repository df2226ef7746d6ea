/* Opens a folder for readdir(), from a descriptor that stays where it is. */
#ifndef SPROF_LIST_FOLDER_H
#define SPROF_LIST_FOLDER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

/* `name` in `dir`, "." for `dir` itself; a symbolic link is none. NULL with errno. */
static inline DIR *list_folder(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d) {
		err = errno;
		close(fd);
		errno = err;
	}
	return d;
}

#endif
