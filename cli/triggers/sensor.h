/*
 * One thing that a trigger watches: a process, a cgroup or the machine. The kernel's file about it
 * stays open, so that a later process with the same number is not taken for it. A cgroup is meant
 * by its path: when it was removed, a new one in its place is watched.
 */
#ifndef SPROF_SENSOR_H
#define SPROF_SENSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/triggers/trigger_spec.h"
#include "cli/triggers/trigger_state.h"

struct buffer;

struct sensor {
	const struct trigger_spec *spec;
	pid_t pid;	/* 0: none */
	char *cgroup;	/* folder; NULL: none. With neither it is the machine. */
	int fd;		/* -1: the process has ended, or the cgroup is gone */
	int outer_fd;	/* oom, of a cgroup: counts the kills around it; or -1 */
	bool is_polled; /* the kernel watches the pressure */
	bool has_count;
	uint64_t count; /* kills, at the last look */
	uint64_t outer; /* the same for outer_fd */
	uint64_t value; /* measured last, in the unit of the limit */
	struct growth growth;
	struct trigger_state state;
};

/*
 * Opens what is watched; copies `cgroup`. 0 or -errno, not reported; call sensor_close() in either
 * case.
 */
int sensor_open(struct sensor *s, const struct trigger_spec *spec, pid_t pid, const char *cgroup);
void sensor_close(struct sensor *s);

/*
 * Measures, or looks for a cgroup that is gone; to be called about once a second. Returns whether
 * the trigger fires.
 */
bool sensor_fires(struct sensor *s, uint64_t now_ns);
/* Adds what was measured: "process 12 took 97.3% of a CPU". */
void sensor_describe(const struct sensor *s, struct buffer *b);
/* Adds the name of the file that it reads. */
void sensor_add_path(const struct sensor *s, struct buffer *b);

#endif
