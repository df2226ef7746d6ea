/*
 * Looks beside the running program (/proc/self/exe), in a build folder and as `make install` lays
 * files out.
 */
#include "sampler/attach/own_library.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

char *own_library_find(const char *name)
{
	static const char *const places[] = { "", "../lib/", "../lib/sprof/" };
	char own[4096], *slash;
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (size <= 0)
		return NULL;
	own[size] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return NULL;
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *path = xasprintf("%s%s%s", own, places[i], name);
		char *real = realpath(path, NULL);

		free(path);
		if (real)
			return real;
	}
	return NULL;
}
