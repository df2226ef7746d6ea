/*
 * The pprof profiles of a set, for receivers that store one series per process and kind of value.
 */
#ifndef SPROF_PPROF_PARTS_H
#define SPROF_PPROF_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct push_series;
struct push_set;

struct pprof_part {
	const struct push_series *series;
	const char *name;     /* of the values, a valid metric name: "process_cpu" */
	struct buffer *pprof; /* gzipped */
	uint64_t nr_samples;
};

/*
 * Calls visit() for each process and column of the set. `threads`: samples have labels that name
 * their threads. 0, or what visit() returned.
 */
int pprof_parts_each(const struct push_set *set, bool threads,
		     int (*visit)(void *context, const struct pprof_part *part), void *context);

#endif
