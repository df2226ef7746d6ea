/*
 * The guard is RLIMIT_DATA: it counts what every library allocates, and no reader can forget it. If
 * the kernel does not enforce it, the limits that readers check themselves remain.
 */
#include "core/base/memory_limit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

#define MB (1ull << 20)
#define EXPANDED_MIN MB
#define FILE_MULTIPLE 256
#define FILE_MIN (256 * MB)
#define GUARD_MIN (32 * MB) /* what reading a file may take at least */
#define STEP (4 * MB)	    /* bytes of a pipe between changes of the limit */

/* Global, because the guard changes a limit of the whole process. */
static struct {
	const char *name; /* NULL: there is no guard */
	uint64_t file_bytes, limit, data_before, next_step;
	struct rlimit before;
} guard;

/* Returns the first number that follows `key` in a file, or UINT64_MAX. */
static uint64_t number_in(const char *path, const char *key)
{
	uint64_t number = UINT64_MAX;
	char line[256], *end;
	FILE *f = fopen(path, "re");

	while (f && number == UINT64_MAX && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		number = strtoull(line + strlen(key), &end, 10);
		if (end == line + strlen(key)) /* "max" */
			number = UINT64_MAX;
	}
	if (f)
		fclose(f);
	return number;
}

/* Returns the bytes that a cgroup has left; its cache of files counts as free. */
static uint64_t left_in(const char *directory, const char *limit, const char *usage,
			const char *cache)
{
	char path[PATH_MAX + 64];
	uint64_t most, used, cached;

	snprintf(path, sizeof(path), "%s/%s", directory, limit);
	most = number_in(path, "");
	snprintf(path, sizeof(path), "%s/%s", directory, usage);
	used = number_in(path, "");
	if (most == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/memory.stat", directory);
	cached = number_in(path, cache);
	if (cached != UINT64_MAX)
		used -= cached < used ? cached : used;
	return most > used ? most - used : 0;
}

/*
 * Returns the least that a cgroup or one above it has left. The way up ends at the root of the
 * mount: a container may see its whole path, but only its own directory there.
 */
static uint64_t left_above(const char *mount, const char *group, bool v2)
{
	char directory[PATH_MAX];
	uint64_t least = UINT64_MAX, left;
	char *slash;

	if (snprintf(directory, sizeof(directory), "%s%s", mount, group) >= (int)sizeof(directory))
		return UINT64_MAX;
	for (;;) {
		left = v2 ? left_in(directory, "memory.max", "memory.current", "inactive_file ")
			  : left_in(directory, "memory.limit_in_bytes", "memory.usage_in_bytes",
				    "total_inactive_file ");
		if (left < least)
			least = left;
		slash = strrchr(directory, '/');
		if (!slash || strlen(directory) <= strlen(mount))
			return least;
		*slash = '\0';
	}
}

static uint64_t left_in_cgroups(void)
{
	uint64_t least = UINT64_MAX, left = UINT64_MAX;
	char line[PATH_MAX + 64];
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *group = strchr(line, '/');

		if (!group)
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			left = left_above("/sys/fs/cgroup", group, true);
		else if (strstr(line, ":memory:"))
			left = left_above("/sys/fs/cgroup/memory", group, false);
		if (left < least)
			least = left;
	}
	if (f)
		fclose(f);
	return least;
}

/* Bytes of memory that this process may write to. */
static uint64_t data_bytes(void)
{
	uint64_t kb = number_in("/proc/self/status", "VmData:");

	return kb == UINT64_MAX ? 0 : kb << 10;
}

static uint64_t left_of_limit(int resource, uint64_t used)
{
	struct rlimit r;

	if (getrlimit(resource, &r))
		return UINT64_MAX;
	if (resource == RLIMIT_DATA && guard.name)
		r = guard.before; /* what is left does not depend on the guard */
	if (r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur > used ? r.rlim_cur - used : 0;
}

uint64_t memory_available(void)
{
	uint64_t least = number_in("/proc/meminfo", "MemAvailable:");
	uint64_t size = number_in("/proc/self/status", "VmSize:");
	const uint64_t others[] = {
		left_in_cgroups(),
		left_of_limit(RLIMIT_DATA, data_bytes()),
		left_of_limit(RLIMIT_AS, size == UINT64_MAX ? 0 : size << 10),
	};

	if (least != UINT64_MAX)
		least <<= 10;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (others[i] < least)
			least = others[i];
	}
	return least;
}

static uint64_t limit_of(uint64_t bytes, uint64_t ratio, uint64_t least, uint64_t part)
{
	uint64_t limit, left;

	if (__builtin_mul_overflow(bytes, ratio, &limit))
		limit = UINT64_MAX;
	if (limit < least)
		limit = least;
	left = memory_available() / part;
	return limit < left ? limit : left;
}

uint64_t memory_limit_expanded(uint64_t stored, unsigned int ratio)
{
	return limit_of(stored, ratio, EXPANDED_MIN, 4);
}

uint64_t memory_limit_file(uint64_t file_bytes)
{
	uint64_t limit = limit_of(file_bytes, FILE_MULTIPLE, FILE_MIN, 2);

	return limit > GUARD_MIN ? limit : GUARD_MIN;
}

void memory_limit_report(const char *name, uint64_t file_bytes, uint64_t limit)
{
	bool large = file_bytes >= 1000 * 1000;

	log_error(0,
		  "read '%s': its %.1f %s would take more than %.0f MB of memory, the limit for a "
		  "file of that size here",
		  name, (double)file_bytes / (large ? 1e6 : 1e3), large ? "MB" : "kB",
		  (double)limit / 1e6);
}

static void raise_limit(uint64_t limit)
{
	struct rlimit r = guard.before;
	uint64_t most = guard.data_before + limit;

	guard.limit = limit;
	if (most < r.rlim_cur)
		r.rlim_cur = most;
	setrlimit(RLIMIT_DATA, &r);
}

/* Called when an allocation has failed. */
static void report(void)
{
	uint64_t bytes = guard.file_bytes, limit = guard.limit;
	const char *name = guard.name;

	memory_guard_end(); /* a message needs memory, too */
	memory_limit_report(name, bytes, limit);
}

void memory_guard_begin(const char *name, uint64_t file_bytes)
{
	if (getrlimit(RLIMIT_DATA, &guard.before))
		return;
	guard.name = name;
	guard.file_bytes = file_bytes;
	guard.data_before = data_bytes();
	guard.next_step = file_bytes + STEP;
	raise_limit(memory_limit_file(file_bytes));
	alloc_set_report(report);
}

void memory_guard_read(uint64_t bytes)
{
	uint64_t limit;

	guard.file_bytes += bytes;
	if (!guard.name || guard.file_bytes < guard.next_step)
		return;
	guard.next_step = guard.file_bytes + STEP;
	/* The memory that is left must not be measured under the guard. */
	setrlimit(RLIMIT_DATA, &guard.before);
	limit = memory_limit_file(guard.file_bytes);
	raise_limit(limit > guard.limit ? limit : guard.limit);
}

void memory_guard_end(void)
{
	if (!guard.name)
		return;
	guard.name = NULL;
	setrlimit(RLIMIT_DATA, &guard.before);
	alloc_set_report(NULL);
}
