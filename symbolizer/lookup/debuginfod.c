/*
 * libdebuginfod.so.1 is loaded with dlopen(), and its functions are found by name: sprof does not
 * depend on it. One server that cannot be reached ends all asking, so that a machine without a
 * network waits once. A fetch ends early only through the progress callback, because then the
 * library removes the file that it has written so far; it never removes one that a signal left.
 */
#include "symbolizer/lookup/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "core/untrusted/shared_memory.h"

#define LIBRARY "libdebuginfod.so.1"
#define ID_SIZE_MIN 8		   /* bytes; shorter ids are not unique worldwide */
#define DOWNLOAD_MAX 8000000000ull /* bytes; Chromium's has 5 GB */
#define TIMEOUT_S "20"		   /* for the first 100 KB; the default is 90 s */
#define NR_REFUSED 64
#define REFUSED_NS (3600 * NS_PER_S)

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

/*
 * Files that are not asked for again for a while. Children that are forked later read and write
 * this too, as each segment of a flight recorder is named by another one. If two of them take one
 * place at the same time, a file is forgotten, and asked for again.
 */
struct refused {
	struct {
		uint64_t key; /* hash of the build-id */
		uint64_t until_ns;
	} of[NR_REFUSED];
};

/* Why a fetch was ended. Too late: other files had taken most of the time. */
enum cut { CUT_NONE, CUT_TOO_LARGE, CUT_TOO_SLOW, CUT_TOO_LATE };

struct debuginfod {
	void *handle;
	struct library library;
	client *client;
	debuginfod_progress *progress;
	void *context;
	const char *name; /* of the file being fetched */
	bool unreachable;
	uint64_t limit; /* bytes of the file being fetched */
	uint64_t began_ns;
	uint64_t max_ns, until_ns; /* what all fetches may take, and until when; 0: no limit */
	enum cut cut;		   /* of the file being fetched */
	struct refused *refused;
};

static bool is_refused(const struct debuginfod *d, uint64_t key)
{
	uint64_t now_ns = monotonic_ns();

	/* Relaxed: a key beside the time of another one is as harmless as a lost one. */
	for (size_t i = 0; i < NR_REFUSED; i++)
		if (__atomic_load_n(&d->refused->of[i].key, __ATOMIC_RELAXED) == key &&
		    __atomic_load_n(&d->refused->of[i].until_ns, __ATOMIC_RELAXED) > now_ns)
			return true;
	return false;
}

/* Takes the place whose time ends first. */
static void refuse(struct debuginfod *d, uint64_t key)
{
	uint64_t first_ns = UINT64_MAX;
	size_t place = 0;

	for (size_t i = 0; i < NR_REFUSED; i++) {
		uint64_t ns = __atomic_load_n(&d->refused->of[i].until_ns, __ATOMIC_RELAXED);

		if (ns >= first_ns)
			continue;
		first_ns = ns;
		place = i;
	}
	__atomic_store_n(&d->refused->of[place].key, key, __ATOMIC_RELAXED);
	__atomic_store_n(&d->refused->of[place].until_ns, monotonic_ns() + REFUSED_NS,
			 __ATOMIC_RELAXED);
}

static bool is_over(const struct debuginfod *d)
{
	return d->until_ns && monotonic_ns() >= d->until_ns;
}

/* A file that has had half of the time is too slow. With less it may be a fast one. */
static enum cut must_cut(const struct debuginfod *d, long done)
{
	if (d->cut || (done > 0 && (uint64_t)done > d->limit))
		return d->cut ? d->cut : CUT_TOO_LARGE;
	if (!is_over(d))
		return CUT_NONE;
	return monotonic_ns() - d->began_ns >= d->max_ns / 2 ? CUT_TOO_SLOW : CUT_TOO_LATE;
}

/* Called at least once a second. It gets only the client, which carries a pointer to us. */
static int on_progress(client *c, long done, long total)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	void *(*get_user_data)(client * c) = NULL;
	struct debuginfod *d = NULL;

	if (handle)
		get_user_data = (void *(*)(client *))dlsym(handle, "debuginfod_get_user_data");
	if (get_user_data)
		d = get_user_data(c);
	if (d)
		d->cut = must_cut(d, done);
	if (d && d->progress && done >= 0)
		d->progress(d->context, d->name, (uint64_t)done, total > 0 ? (uint64_t)total : 0);
	if (handle)
		dlclose(handle);
	return d && d->cut; /* another value than 0 ends the download */
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
	d->refused = shared_memory_of_children(sizeof(*d->refused));
	if (!d->refused)
		log_error(errno, "remember which debug files are not fetched");
	err = d->refused ? load(d) : -ENOMEM;
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
	if (d->refused)
		munmap(d->refused, sizeof(*d->refused));
	free(d);
}

void debuginfod_limit(struct debuginfod *d, uint64_t max_ns)
{
	d->max_ns = max_ns;
	d->until_ns = monotonic_ns() + max_ns;
}

/* Says why the fetch was ended; -errno. */
static int end_cut(struct debuginfod *d, const char *name, uint64_t key)
{
	if (d->cut == CUT_TOO_LATE) {
		log_debug("'%s': there was no time to fetch its debug file", name);
		return -ETIME;
	}
	refuse(d, key);
	if (d->cut == CUT_TOO_SLOW) {
		log_warning("'%s': its debug file is not fetched: it was not complete after %.0f "
			    "s; it is asked for again in an hour at the earliest",
			    name, (double)(monotonic_ns() - d->began_ns) / 1e9);
		return -ETIME;
	}
	log_warning("'%s': its debug file is not fetched: it has more than %.0f MB, the limit here",
		    name, (double)d->limit / 1e6);
	return -EFBIG;
}

int debuginfod_fetch(struct debuginfod *d, const char *name, const uint8_t *build_id, size_t size)
{
	uint64_t key = XXH3_64bits(build_id, size);
	int fd;

	if (d->unreachable || size < ID_SIZE_MIN || is_over(d) || is_refused(d, key))
		return -ENOENT;
	d->name = name;
	d->cut = CUT_NONE;
	d->began_ns = monotonic_ns();
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
	if (d->cut)
		return end_cut(d, name, key);
	log_debug("'%s': no server has its debug file: error %d", name, -fd);
	if (fd != -ENOENT) {
		d->unreachable = true;
		log_error(-fd, "fetch the debug file of '%s'", name);
		log_hint("curl -I \"${DEBUGINFOD_URLS%%%% *}\" says more");
	}
	return fd;
}
