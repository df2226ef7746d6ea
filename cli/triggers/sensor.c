/*
 * A table says which file has which number. The kernel watches pressure if it takes a trigger
 * (Documentation/accounting/psi.rst). If it refuses, because the caller lacks the right for that
 * span, the sum of all waits is read and its growth compared.
 */
#include "cli/triggers/sensor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"

#define TEXT_SIZE 16384
#define NS_PER_US 1000u

enum subject { OF_PROCESS, OF_CGROUP, OF_MACHINE, NR_SUBJECTS };

/* Each returns false if the text does not have the number. */
typedef bool read_fn(const struct sensor *s, const char *text, uint64_t *ret_value);

/* Reads the number that follows `word` at the beginning of a line. */
static bool number_behind(const char *text, const char *word, uint64_t *ret_value)
{
	size_t length = strlen(word);
	char *end;

	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, word, length)) {
			*ret_value = strtoull(line + length, &end, 10);
			return end != line + length;
		}
	return false;
}

static uint64_t ticks_ns(uint64_t ticks)
{
	return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Counts fields from the last ')', as the name of the process may hold anything. */
static bool read_process_cpu(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	const char *behind = strrchr(text, ')');
	unsigned long long user, kernel;

	(void)s;
	if (!behind || sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
			      &user, &kernel) != 2)
		return false;
	*ret_value = ticks_ns(user + kernel);
	return true;
}

static bool read_process_memory(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	unsigned long long pages;

	(void)s;
	if (sscanf(text, "%*u %llu", &pages) != 1)
		return false;
	*ret_value = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

static bool read_cgroup_cpu(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	(void)s;
	if (!number_behind(text, "usage_usec ", ret_value))
		return false;
	*ret_value *= NS_PER_US;
	return true;
}

static bool read_cgroup_memory(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	(void)s;
	return number_behind(text, "", ret_value);
}

/* CPU time divided by the number of CPUs, so that 100% is a busy machine. */
static bool read_machine_cpu(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned long long t[8];

	(void)s;
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6], &t[7]) != 8)
		return false;
	*ret_value = ticks_ns(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) /
		     (uint64_t)(nr_cpus > 0 ? nr_cpus : 1);
	return true;
}

static bool read_machine_memory(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	uint64_t total, available;

	(void)s;
	if (!number_behind(text, "MemTotal:", &total) ||
	    !number_behind(text, "MemAvailable:", &available))
		return false;
	*ret_value = total > available ? (total - available) * 1024 : 0;
	return true;
}

static bool read_pressure(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	const char *line = strstr(text, s->spec->full ? "full " : "some ");
	const char *total = line ? strstr(line, "total=") : NULL;

	if (!total)
		return false;
	*ret_value = strtoull(total + strlen("total="), NULL, 10) * NS_PER_US;
	return true;
}

static bool read_kills(const struct sensor *s, const char *text, uint64_t *ret_value)
{
	(void)s;
	return number_behind(text, "oom_kill ", ret_value);
}

static const struct {
	const char *file; /* in /proc/PID, in the cgroup's folder, or in /proc */
	read_fn *read;
} readings[][NR_SUBJECTS] = {
	[TRIGGER_CPU] = { { "stat", read_process_cpu },
			  { "cpu.stat", read_cgroup_cpu },
			  { "stat", read_machine_cpu } },
	[TRIGGER_MEMORY] = { { "statm", read_process_memory },
			     { "memory.current", read_cgroup_memory },
			     { "meminfo", read_machine_memory } },
	[TRIGGER_PRESSURE] = { { NULL, NULL },
			       { "%s.pressure", read_pressure },
			       { "pressure/%s", read_pressure } },
	[TRIGGER_OOM] = { { NULL, NULL },
			  { "memory.events", read_kills },
			  { "vmstat", read_kills } },
};

static enum subject subject_of(const struct sensor *s)
{
	return s->pid ? OF_PROCESS : s->cgroup ? OF_CGROUP : OF_MACHINE;
}

void sensor_add_path(const struct sensor *s, struct buffer *b)
{
	const char *file = readings[s->spec->kind][subject_of(s)].file;
	const char *before = strchr(file, '%');

	buffer_add_string(b, s->cgroup ? s->cgroup : "/proc");
	if (s->pid)
		buffer_printf(b, "/%d", (int)s->pid);
	if (!before) {
		buffer_printf(b, "/%s", file);
		return;
	}
	buffer_printf(b, "/%.*s%s%s", (int)(before - file), file, pressure_name(s->spec->pressure),
		      before + 2);
}

static int open_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

static int open_file(const struct sensor *s, int flags)
{
	struct buffer path = { 0 };
	int fd;

	sensor_add_path(s, &path);
	fd = open_path(buffer_cstring(&path), flags);
	buffer_fini(&path);
	return fd;
}

/* Has the kernel watch the pressure. Returns false if it does not, or not for this caller. */
static bool ask_kernel(struct sensor *s)
{
	uint64_t span_us = s->spec->for_ns / NS_PER_US;
	char text[64];
	int fd = open_file(s, O_RDWR), length;

	if (fd < 0)
		return false;
	length = snprintf(text, sizeof(text), "%s %llu %llu", s->spec->full ? "full" : "some",
			  (unsigned long long)(span_us * s->spec->limit / 1000000),
			  (unsigned long long)span_us);
	if (write(fd, text, (size_t)length + 1) < 0) {
		close(fd);
		return false;
	}
	s->fd = fd;
	s->is_polled = true;
	return true;
}

/* Reads a file of the kernel from its beginning. Returns false if what it is about is gone. */
static bool read_text(int fd, char text[TEXT_SIZE])
{
	ssize_t size = pread(fd, text, TEXT_SIZE - 1, 0);

	if (size <= 0)
		return false;
	text[size] = '\0';
	return true;
}

/* Returns false if what is watched is gone, or the file has another form. */
static bool read_value(const struct sensor *s, uint64_t *ret_value)
{
	char text[TEXT_SIZE];

	return read_text(s->fd, text) &&
	       readings[s->spec->kind][subject_of(s)].read(s, text, ret_value);
}

static bool read_outer(const struct sensor *s, uint64_t *ret_kills)
{
	char text[TEXT_SIZE];

	return s->outer_fd >= 0 && read_text(s->outer_fd, text) && read_kills(s, text, ret_kills);
}

/*
 * Opens the count of kills of the parent cgroup, which includes those of the cgroup itself. The
 * root cgroup has no such file; the machine's count stands for it.
 */
static void open_outer(struct sensor *s)
{
	const char *slash = strrchr(s->cgroup, '/');
	char *path;

	assert(slash);
	path = xasprintf("%.*s/memory.events", (int)(slash - s->cgroup), s->cgroup);
	s->outer_fd = open_path(path, O_RDONLY);
	if (s->outer_fd < 0)
		s->outer_fd = open_path("/proc/vmstat", O_RDONLY);
	free(path);
	if (read_outer(s, &s->outer) || s->outer_fd < 0)
		return;
	close(s->outer_fd);
	s->outer_fd = -1;
}

/* Returns how many kills there were around the cgroup since the last look. */
static uint64_t count_outer(struct sensor *s)
{
	uint64_t before = s->outer, kills;

	if (!read_outer(s, &kills))
		return 0;
	s->outer = kills;
	return kills > before ? kills - before : 0;
}

/* Opens the file of what is watched, and looks whether it has a value. 0 or -errno. */
static int watch(struct sensor *s)
{
	uint64_t value;

	if (s->spec->kind == TRIGGER_PRESSURE && ask_kernel(s))
		return 0;
	s->fd = open_file(s, O_RDONLY);
	if (s->fd < 0)
		return s->fd;
	if (s->spec->kind == TRIGGER_OOM && s->cgroup)
		open_outer(s);
	return read_value(s, &value) ? 0 : -ENODATA;
}

int sensor_open(struct sensor *s, const struct trigger_spec *spec, pid_t pid, const char *cgroup)
{
	*s = (struct sensor){ .spec = spec, .pid = pid, .fd = -1, .outer_fd = -1 };
	s->cgroup = cgroup ? xstrdup(cgroup) : NULL;
	assert(readings[spec->kind][subject_of(s)].file);
	return watch(s);
}

/* Forgets what was counted, too: a new cgroup of the same path has counts of its own. */
static void end(struct sensor *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->outer_fd >= 0)
		close(s->outer_fd);
	s->fd = s->outer_fd = -1;
	s->is_polled = s->has_count = false;
	s->growth = (struct growth){ 0 };
	s->state.over_since_ns = 0;
}

void sensor_close(struct sensor *s)
{
	end(s);
	free(s->cgroup);
	s->cgroup = NULL;
}

/* Watches a new cgroup of the same path. A process stays ended, as numbers are used again. */
static bool watch_again(struct sensor *s)
{
	if (!s->cgroup)
		return false;
	if (!watch(s))
		return true;
	end(s);
	return false;
}

/*
 * The kernel's word is not enough, and the sum must have grown as the limit says: Linux 6.18 also
 * tells of the first window in which anything waits, whatever the limit.
 */
static bool kernel_tells(struct sensor *s, uint64_t now_ns)
{
	struct pollfd p = { .fd = s->fd, .events = POLLPRI };
	uint64_t total, ppm, span = s->spec->for_ns;

	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLNVAL))) {
		end(s); /* the cgroup is gone */
		return false;
	}
	if (!read_value(s, &total)) {
		end(s);
		return false;
	}
	growth_add(&s->growth, now_ns, total, span, &ppm);
	s->value = s->growth.elapsed_ns ? s->growth.grown * 1000000 / s->growth.elapsed_ns : 0;
	return trigger_happened(&s->state,
				(p.revents & POLLPRI) &&
					s->growth.grown >= span / 1000000 * s->spec->limit,
				now_ns);
}

/*
 * The cgroup is gone, perhaps with the kill that its trigger waits for: a service whose only
 * process was killed is removed before its count is read again. So a kill around it since the last
 * look counts as its own. If a sibling lost a process in that very second, the trigger fires
 * without need, and a segment too many is kept.
 */
static bool last_kill(struct sensor *s, uint64_t nr_around, uint64_t now_ns)
{
	end(s);
	s->value = nr_around;
	return trigger_happened(&s->state, nr_around > 0, now_ns);
}

static bool count_grew(struct sensor *s, uint64_t count, uint64_t now_ns)
{
	bool grew = s->has_count && count > s->count;

	s->value = grew ? count - s->count : 0;
	s->count = count;
	s->has_count = true;
	return trigger_happened(&s->state, grew, now_ns);
}

bool sensor_fires(struct sensor *s, uint64_t now_ns)
{
	uint64_t value, nr_around;

	if (s->fd < 0 && !watch_again(s))
		return trigger_happened(&s->state, false, now_ns); /* what is gone is calm */
	if (s->is_polled)
		return kernel_tells(s, now_ns);
	/* First, so that a kill between the two reads is in the cgroup's own count. */
	nr_around = count_outer(s);
	if (!read_value(s, &value))
		return last_kill(s, nr_around, now_ns);
	switch (s->spec->kind) {
	case TRIGGER_OOM: return count_grew(s, value, now_ns);
	case TRIGGER_MEMORY:
		s->value = value;
		return trigger_measured(&s->state, value, s->spec->limit, s->spec->for_ns, now_ns);
	case TRIGGER_CPU:
	case TRIGGER_PRESSURE: break;
	}
	if (!growth_add(&s->growth, now_ns, value, s->spec->for_ns, &s->value))
		return false;
	return trigger_measured(&s->state, s->value, s->spec->limit, 0, now_ns);
}

static void add_subject(const struct sensor *s, struct buffer *b)
{
	if (s->pid)
		buffer_printf(b, "process %d", (int)s->pid);
	else if (s->cgroup)
		buffer_printf(b, "cgroup %s", s->cgroup);
	else
		buffer_add_string(b, "the machine");
}

void sensor_describe(const struct sensor *s, struct buffer *b)
{
	if (s->spec->kind == TRIGGER_OOM) {
		buffer_add_string(b, "the kernel killed a process for lack of memory in ");
		add_subject(s, b);
		if (s->cgroup && s->fd < 0)
			buffer_add_string(b, ", which is gone, or next to it");
		return;
	}
	add_subject(s, b);
	switch (s->spec->kind) {
	case TRIGGER_CPU:
		buffer_printf(b, " took %.1f%% of %s", (double)s->value / 1e4,
			      s->pid || s->cgroup ? "a CPU" : "all CPUs");
		break;
	case TRIGGER_MEMORY:
		buffer_printf(b, " has %.1f MiB of memory", (double)s->value / (1 << 20));
		break;
	case TRIGGER_PRESSURE:
		buffer_printf(b, " waited for %s for %.1f%% of the time",
			      s->spec->pressure == PRESSURE_CPU ? "a CPU"
								: pressure_name(s->spec->pressure),
			      (double)s->value / 1e4);
		break;
	case TRIGGER_OOM: break;
	}
}
