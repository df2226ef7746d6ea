/*
 * A PMU is a folder: `type` has its number, `events/NAME` an event as terms ("event=0x3c,umask=1"),
 * and `format/TERM` the bits of the configuration that a term sets ("config:0-7,32-35"). Counters
 * of a whole package have a file `cpumask`: they run for no code, so they cannot be sampled.
 */
#include "sampler/events/pmu_event.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/events/find_event.h"

#define MAX_LINE 512
#define MAX_PMUS 4096

/* Is it one name, without a path in it? */
static bool is_plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < 128;
}

/* Reads the first line of a file of the PMU. 0 or -errno. */
static int read_line(const char *folder, const char *pmu, const char *group, const char *name,
		     char *line)
{
	char path[MAX_LINE];
	FILE *f;
	int err = 0;

	if (snprintf(path, sizeof(path), "%s/%s/%s%s", folder, pmu, group, name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (!fgets(line, MAX_LINE, f))
		err = -EIO;
	fclose(f);
	if (!err)
		line[strcspn(line, "\n")] = '\0';
	return err;
}

/* Puts the bits of `value`, lowest first, where a format such as "config1:0-7,32-35" says. */
static int set_bits(const char *format, uint64_t value, struct found_event *e)
{
	const char *at = strchr(format, ':');
	uint64_t *field = !strncmp(format, "config1:", 8)   ? &e->config1
			  : !strncmp(format, "config2:", 8) ? &e->config2
			  : !strncmp(format, "config:", 7)  ? &e->config
							    : NULL;

	if (!field || !at)
		return -EINVAL;
	while (*at) {
		unsigned long first, last;
		char *end;

		first = last = strtoul(at + 1, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (end == at + 1 || first > last || last > 63 || (*end && *end != ','))
			return -EINVAL;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			*field |= (value & 1) << bit;
		at = end;
	}
	return value ? -ERANGE : 0;
}

/* "event=0x3c" or "inv", which means 1. */
static int add_term(const char *folder, const char *pmu, char *term, struct found_event *e)
{
	char *equals = strchr(term, '='), *end, format[MAX_LINE];
	uint64_t value = 1;
	int err;

	if (equals) {
		*equals = '\0';
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (errno || end == equals + 1 || *end)
			return -EINVAL;
	}
	if (!strcmp(term, "config")) {
		e->config |= value;
		return 0;
	}
	err = is_plain(term) ? read_line(folder, pmu, "format/", term, format) : -EINVAL;
	return err ? err : set_bits(format, value, e);
}

static int add_terms(const char *folder, const char *pmu, char *terms, struct found_event *e)
{
	char *rest, *term;
	int err = 0;

	for (term = strtok_r(terms, ",", &rest); term && !err; term = strtok_r(NULL, ",", &rest))
		err = add_term(folder, pmu, term, e);
	return err;
}

/* `event`: the name of a file in events/, or terms. */
static int find_in(const char *folder, const char *pmu, const char *event, struct found_event *ret,
		   char *why, size_t why_size)
{
	struct found_event e = { .exclude_user = ret->exclude_user,
				 .exclude_kernel = ret->exclude_kernel };
	char line[MAX_LINE], terms[MAX_LINE];
	int err = read_line(folder, pmu, "", "type", line);

	memcpy(e.name, ret->name, sizeof(e.name));
	if (err) {
		snprintf(why, why_size, "this host has no PMU '%s'", pmu);
		return err;
	}
	e.type = (uint32_t)strtoul(line, NULL, 10);
	if (!read_line(folder, pmu, "", "cpumask", line)) {
		snprintf(why, why_size,
			 "its counters run for a whole package, not for the code of a CPU");
		return -EOPNOTSUPP;
	}
	if (!is_plain(event) || read_line(folder, pmu, "events/", event, terms))
		snprintf(terms, sizeof(terms), "%s", event);
	err = add_terms(folder, pmu, terms, &e);
	if (err) {
		snprintf(why, why_size, "PMU '%s' has no such event", pmu);
		return err;
	}
	*ret = e;
	return 0;
}

/* Looks for the PMU that has an event of that name. */
static int find_anywhere(const char *folder, const char *name, struct found_event *ret, char *why,
			 size_t why_size)
{
	DIR *dir = is_plain(name) ? opendir(folder) : NULL;
	struct dirent *entry;
	int err = -ENOENT, nr = 0;

	snprintf(why, why_size, "there is no such event");
	while (dir && err && nr++ < MAX_PMUS && (entry = readdir(dir))) {
		char line[MAX_LINE], full[sizeof(ret->name)];

		if (!is_plain(entry->d_name) ||
		    read_line(folder, entry->d_name, "events/", name, line))
			continue;
		if (snprintf(full, sizeof(full), "%s/%s/", entry->d_name, name) >=
		    (int)sizeof(full))
			continue;
		err = find_in(folder, entry->d_name, name, ret, why, why_size);
		if (!err)
			memcpy(ret->name, full, sizeof(full));
	}
	if (dir)
		closedir(dir);
	return err;
}

int pmu_event_find(const char *folder, const char *name, struct found_event *ret, char *why,
		   size_t why_size)
{
	char pmu[EVENT_NAME_MAX + 1], *slash, *end;

	if (!strchr(name, '/'))
		return find_anywhere(folder, name, ret, why, why_size);
	snprintf(pmu, sizeof(pmu), "%s", name);
	slash = strchr(pmu, '/');
	*slash = '\0';
	end = strchr(slash + 1, '/');
	if (!is_plain(pmu) || !end || end[1] || end == slash + 1) {
		snprintf(why, why_size, "an event of a PMU is PMU/NAME/");
		return -EINVAL;
	}
	*end = '\0';
	return find_in(folder, pmu, slash + 1, ret, why, why_size);
}
