/*
 * Names the program itself, and the two files that almost every process maps: the dynamic linker
 * and libc. The paths of these two are taken from this process, which usually runs on the same
 * ones.
 */
#include "sampler/ebpf/prefetch_rows.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/path.h"
#include "core/rights/privileges.h"
#include "sampler/target/launch.h"

struct caller {
	void (*fn)(void *context, const char *path);
	void *context;
};

static int on_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *name = path_base_name(info->dlpi_name);
	const struct caller *caller = data;

	(void)size;
	if (!strncmp(name, "libc.", 5) || !strncmp(name, "ld-", 3))
		caller->fn(caller->context, info->dlpi_name);
	return 0;
}

void prefetch_files(const char *name, void (*fn)(void *context, const char *path), void *context)
{
	struct caller caller = { fn, context };
	enum rights before;
	char *path;
	int err;

	dl_iterate_phdr(on_library, &caller);
	before = privileges_use(RIGHTS_OF_CALLER);
	err = launch_find(name, &path);
	privileges_use(before);
	if (err)
		return;
	fn(context, path);
	free(path);
}
