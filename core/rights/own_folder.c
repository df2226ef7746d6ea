/* Checks the descriptor, not the path, so that no other folder can take its place. */
#include "core/rights/own_folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int own_folder_check(int fd, mode_t mask, const char **ret_why)
{
	struct stat st;

	if (fstat(fd, &st)) {
		int err = -errno;

		*ret_why = strerror(-err);
		return err;
	}
	if (st.st_uid != geteuid()) {
		*ret_why = "it belongs to another user";
		return -EPERM;
	}
	if (!(st.st_mode & mask))
		return 0;
	*ret_why =
		mask & (S_IRGRP | S_IROTH) ? "others have rights in it" : "others may write to it";
	return -EPERM;
}
