/*
 * One thing that a trigger watches: a process, a cgroup or the machine. Its file of the kernel is
 * opened once, so that a number that another process gets later is not taken for it.
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
	char *cgroup;	/* its folder; NULL: none. Without both it is the machine. */
	int fd;		/* -1: it has ended */
	bool is_polled; /* the kernel says when the pressure is over the limit */
	bool has_count;
	uint64_t count; /* of kills, as it was last */
	uint64_t value; /* what was measured last, in the unit of the limit */
	struct growth growth;
	struct trigger_state state;
};

/*
 * Opens what is watched; `cgroup` is copied. 0 or -errno, not reported; sensor_close() is called in
 * either case.
 */
int sensor_open(struct sensor *s, const struct trigger_spec *spec, pid_t pid, const char *cgroup);
void sensor_close(struct sensor *s);

/* Measures, about once a second. Does its trigger fire? */
bool sensor_fires(struct sensor *s, uint64_t now_ns);
/* Adds what it is about and what was measured: "process 12 took 97.3% of a CPU". */
void sensor_describe(const struct sensor *s, struct buffer *b);
/* Adds the name of the file that it reads. */
void sensor_add_path(const struct sensor *s, struct buffer *b);

#endif
