/*
 * Four kinds of names: events that the kernel numbers itself, raw codes of the CPU (r1a8),
 * tracepoints, whose number is in a file of tracefs, and events of a PMU, which sysfs describes.
 */
#include "sampler/events/find_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/events/pmu_event.h"

static const char *const tracefs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

#define PMUS "/sys/bus/event_source/devices"

/* Reads the number that the kernel gave a tracepoint. 0 or -errno. */
static int read_id(const char *folder, const char *category, const char *name, uint64_t *ret)
{
	unsigned long long id;
	char path[256];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", folder, category, name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	err = fscanf(f, "%llu", &id) == 1 ? 0 : -EIO;
	fclose(f);
	if (!err)
		*ret = id;
	return err;
}

static int no_tracefs(int err, char *why, size_t why_size, char *hint, size_t hint_size)
{
	for (size_t i = 0; i < sizeof(tracefs) / sizeof(*tracefs); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/events", tracefs[i]);
		if (!access(path, F_OK)) {
			snprintf(why, why_size, "%s",
				 err == -ENOENT ? "this kernel has no such tracepoint"
						: strerror(-err));
			if (err == -ENOENT)
				snprintf(hint, hint_size, "%s lists them", path);
			return err;
		}
	}
	if (err == -EACCES) {
		snprintf(why, why_size, "only root may read the numbers of tracepoints");
		return err;
	}
	snprintf(why, why_size, "tracefs, which has the numbers of tracepoints, is not mounted");
	snprintf(hint, hint_size, "mount -t tracefs nodev /sys/kernel/tracing");
	return -ENOENT;
}

static int find_tracepoint(char *name, struct found_event *ret, char *why, size_t why_size,
			   char *hint, size_t hint_size)
{
	char *colon = strchr(name, ':');
	int err = -ENOENT;

	*colon = '\0';
	if (strpbrk(name, "/.") || strpbrk(colon + 1, ":/.") || !*name || !colon[1]) {
		snprintf(why, why_size, "a tracepoint is CATEGORY:NAME");
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(tracefs) / sizeof(*tracefs) && err; i++) {
		int before = err;

		err = read_id(tracefs[i], name, colon + 1, &ret->config);
		if (err == -ENOENT)
			err = before;
	}
	*colon = ':';
	if (err)
		return no_tracefs(err, why, why_size, hint, hint_size);
	ret->type = PERF_TYPE_TRACEPOINT;
	ret->tracepoint = true;
	return 0;
}

static bool find_raw(const char *name, struct found_event *ret)
{
	size_t n = strlen(name);

	if (name[0] != 'r' || n < 2 || n > 17 ||
	    strspn(name + 1, "0123456789abcdefABCDEF") != n - 1)
		return false;
	ret->type = PERF_TYPE_RAW;
	ret->config = strtoull(name + 1, NULL, 16);
	return true;
}

/* Cuts "u", "k" or both off the end, after a colon or the last slash of a PMU's event. */
static void take_modifiers(char *name, struct found_event *ret)
{
	char *end = strrchr(name, '/') ? strrchr(name, '/') : strrchr(name, ':');
	bool user, kernel;

	if (!end || !end[1] || strspn(end + 1, "uk") != strlen(end + 1))
		return;
	user = strchr(end + 1, 'u');
	kernel = strchr(end + 1, 'k');
	ret->exclude_user = !user;
	ret->exclude_kernel = !kernel;
	end[*end == '/'] = '\0';
}

int event_find(const char *name, struct found_event *ret, char *why, size_t why_size, char *hint,
	       size_t hint_size)
{
	static const char prefix[] = "tracepoint:";
	struct found_event found = { 0 };
	struct event_number number;
	char base[EVENT_NAME_MAX + 1];
	int err = -ENOENT;

	hint[0] = '\0';
	if (!strncmp(name, prefix, sizeof(prefix) - 1))
		name += sizeof(prefix) - 1;
	snprintf(found.name, sizeof(found.name), "%s", name);
	memcpy(base, found.name, sizeof(base));
	take_modifiers(base, &found);
	if (event_name_number(base, &number)) {
		found.type = number.type;
		found.config = number.config;
		err = 0;
	} else if (find_raw(base, &found)) {
		err = 0;
	} else if (strchr(base, ':')) {
		if (found.exclude_user || found.exclude_kernel) {
			snprintf(why, why_size, "a tracepoint takes neither :u nor :k");
			return -EINVAL;
		}
		err = find_tracepoint(base, &found, why, why_size, hint, hint_size);
	} else {
		err = pmu_event_find(PMUS, base, &found, why, why_size);
	}
	if (!err)
		*ret = found;
	return err;
}
