/*
 * libdebuginfod.so.1 is loaded with dlopen(), and its functions are found by name: sprof does not
 * depend on it. One server that cannot be reached ends all asking, so that a machine without a
 * network waits once.
 */
#include "symbolizer/lookup/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"

#define LIBRARY "libdebuginfod.so.1"
#define ID_SIZE_MIN 8		   /* bytes; shorter ids are not unique worldwide */
#define DOWNLOAD_MAX 8000000000ull /* bytes; Chromium's has 5 GB */
#define TIMEOUT_S "20"		   /* for the first 100 KB; the default is 90 s */

/* As in <elfutils/debuginfod.h>. */
typedef struct debuginfod_client client;
typedef int progress_function(client *c, long done, long total);

struct library {
	client *(*begin)(void);
	int (*find_debuginfo)(client *c, const unsigned char *build_id, int size, char **path);
	void (*set_progressfn)(client *c, progress_function *progress);
	void (*set_user_data)(client *c, void *data);
	void (*end)(client *c);
};

struct debuginfod {
	void *handle;
	struct library library;
	client *client;
	debuginfod_progress *progress;
	void *context;
	const char *name; /* of the file being fetched */
	bool unreachable;
	uint64_t limit; /* bytes of the file being fetched */
	bool too_large; /* it has more */
};

/* The callback gets only the client, which carries a pointer to us. */
static int on_progress(client *c, long done, long total)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	void *(*get_user_data)(client * c) = NULL;
	struct debuginfod *d = NULL;
	bool too_large;

	if (handle)
		get_user_data = (void *(*)(client *))dlsym(handle, "debuginfod_get_user_data");
	if (get_user_data)
		d = get_user_data(c);
	/* Another value than 0 ends the download. */
	too_large = d && done > 0 && (uint64_t)done > d->limit;
	if (too_large && !d->too_large)
		log_warning("'%s': its debug file is not fetched: it has more than %.0f MB, the "
			    "limit here",
			    d->name ? d->name : "?", (double)d->limit / 1e6);
	if (too_large)
		d->too_large = true;
	if (d && d->progress && done >= 0)
		d->progress(d->context, d->name, (uint64_t)done, total > 0 ? (uint64_t)total : 0);
	if (handle)
		dlclose(handle);
	return too_large;
}

static bool find_functions(struct debuginfod *d)
{
	const struct {
		const char *name;
		void **function;
	} wanted[] = {
		{ "debuginfod_begin", (void **)&d->library.begin },
		{ "debuginfod_find_debuginfo", (void **)&d->library.find_debuginfo },
		{ "debuginfod_set_progressfn", (void **)&d->library.set_progressfn },
		{ "debuginfod_set_user_data", (void **)&d->library.set_user_data },
		{ "debuginfod_end", (void **)&d->library.end },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].function = dlsym(d->handle, wanted[i].name);
		if (!*wanted[i].function)
			return false;
	}
	return true;
}

static int load(struct debuginfod *d)
{
	d->handle = dlopen(LIBRARY, RTLD_NOW);
	if (!d->handle || !find_functions(d)) {
		log_error(0, "load '%s': it is not installed, or too old", LIBRARY);
		log_hint("apt-get install libdebuginfod1");
		return -ENOENT;
	}
	setenv("DEBUGINFOD_TIMEOUT", TIMEOUT_S, 0);
	d->client = d->library.begin();
	if (!d->client) {
		log_error(ENOMEM, "start '%s'", LIBRARY);
		return -ENOMEM;
	}
	d->library.set_user_data(d->client, d);
	d->library.set_progressfn(d->client, on_progress);
	return 0;
}

int debuginfod_open(debuginfod_progress *progress, void *context, struct debuginfod **ret)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;
	int err;

	if (!urls || !*urls) {
		log_error(0, "fetch debug files: DEBUGINFOD_URLS names no server");
		log_hint("export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/");
		return -EDESTADDRREQ;
	}
	d = xcalloc(1, sizeof(*d));
	d->progress = progress;
	d->context = context;
	err = load(d);
	if (err) {
		debuginfod_close(d);
		return err;
	}
	*ret = d;
	return 0;
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->library.end(d->client);
	if (d->handle)
		dlclose(d->handle);
	free(d);
}

int debuginfod_fetch(struct debuginfod *d, const char *name, const uint8_t *build_id, size_t size)
{
	int fd;

	if (d->unreachable || size < ID_SIZE_MIN)
		return -ENOENT;
	d->name = name;
	d->too_large = false;
	/* What is larger than the memory that is left could not be used. */
	d->limit = memory_available();
	if (d->limit > DOWNLOAD_MAX)
		d->limit = DOWNLOAD_MAX;
	fd = d->library.find_debuginfo(d->client, build_id, (int)size, NULL);
	if (d->progress)
		d->progress(d->context, NULL, 0, 0);
	d->name = NULL;
	if (fd >= 0)
		return fd;
	if (d->too_large)
		return -EFBIG;
	log_debug("'%s': no server has its debug file: error %d", name, -fd);
	if (fd != -ENOENT) {
		d->unreachable = true;
		log_error(-fd, "fetch the debug file of '%s'", name);
		log_hint("curl -I \"${DEBUGINFOD_URLS%%%% *}\" says more");
	}
	return fd;
}
