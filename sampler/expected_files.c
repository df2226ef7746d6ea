/* The program itself, and the two files that almost every process maps. */
#include "sampler/expected_files.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"

struct caller {
	void (*fn)(void *context, const char *path);
	void *context;
};

static void find_in_path(const char *name, const struct caller *caller)
{
	char *path = xstrdup(getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin");
	char *at = path, *dir;

	while ((dir = strsep(&at, ":"))) {
		char *file = xasprintf("%s/%s", *dir ? dir : ".", name);
		int found = !access(file, X_OK);

		if (found)
			caller->fn(caller->context, file);
		free(file);
		if (found)
			break;
	}
	free(path);
}

static int on_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const struct caller *caller = data;

	(void)size;
	if (slash && (!strncmp(slash, "/libc.", 6) || !strncmp(slash, "/ld-", 4)))
		caller->fn(caller->context, info->dlpi_name);
	return 0;
}

void expected_files(const char *name, void (*fn)(void *context, const char *path), void *context)
{
	struct caller caller = { fn, context };

	dl_iterate_phdr(on_library, &caller);
	if (strchr(name, '/'))
		fn(context, name);
	else
		find_in_path(name, &caller);
}
