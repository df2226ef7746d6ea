/*
 * A parsed --trigger: KIND[@WHAT]=LIMIT[:TIME], several of them separated by commas.
 *
 *	cpu=90%:30s		CPU time of a process or cgroup, in percent of one CPU
 *	memory=2G		memory that a process or cgroup has
 *	psi=memory:some:20%	pressure: the share of time that tasks waited for a resource
 *	oom			the kernel killed a process for lack of memory
 *
 * WHAT is a process number or the path of a cgroup; without it, what is recorded is watched.
 */
#ifndef SPROF_TRIGGER_SPEC_H
#define SPROF_TRIGGER_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_TRIGGERS 16

enum trigger_kind { TRIGGER_CPU, TRIGGER_MEMORY, TRIGGER_PRESSURE, TRIGGER_OOM };

/* The names of files below /proc/pressure. */
enum pressure { PRESSURE_CPU, PRESSURE_IO, PRESSURE_MEMORY, NR_PRESSURES };

struct trigger_spec {
	enum trigger_kind kind;
	char *text;	 /* as typed */
	pid_t pid;	 /* WHAT; 0: not a process */
	char *cgroup;	 /* WHAT; NULL: not a cgroup */
	uint64_t limit;	 /* ppm of a CPU or of the time, or bytes; 0 for oom */
	uint64_t for_ns; /* the span over which it is measured */
	enum pressure pressure;
	bool full; /* pressure: all tasks wait, not only some */
};

struct trigger_specs {
	struct trigger_spec list[MAX_TRIGGERS];
	size_t nr;
};

/* Adds the triggers of the text. Returns NULL, or why it is wrong. */
const char *trigger_specs_add(struct trigger_specs *specs, const char *text);
void trigger_specs_fini(struct trigger_specs *specs);

/* "cpu", "io", "memory". */
const char *pressure_name(enum pressure pressure);

#endif
