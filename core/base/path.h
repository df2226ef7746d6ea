/* Takes paths and other names apart as text, without a look at the file system. */
#ifndef SPROF_PATH_H
#define SPROF_PATH_H

#include <stdbool.h>
#include <string.h>

/* Returns what follows the last '/', or the whole path where it has none or ends in it. */
static inline const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static inline bool begins_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

#endif
