/*
 * Names of perf events, as perf spells them, and the column that their samples belong to.
 */
#ifndef SPROF_EVENT_NAME_H
#define SPROF_EVENT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

#define EVENT_NAME_MAX 63 /* bytes of the longest name that sprof record accepts */

/* An event that the kernel knows by a number on every machine, whether or not it can count it. */
struct event_number {
	const char *name, *other_name; /* other_name: another spelling, or NULL */
	uint32_t type;		       /* of perf_event_attr */
	uint64_t config;
};

extern const struct event_number event_numbers[];
extern const size_t nr_event_numbers;

/* Is it the event that a user calls `want`? "cycles" stands for "cycles:u" and "cycles:P" too. */
bool event_name_is(const char *name, const char *want);

/*
 * Finds the number of the event with that name, without modifiers, also of cache events such as
 * L1-dcache-load-misses. Returns false if it has none.
 */
bool event_name_number(const char *name, struct event_number *ret);

/*
 * Can this be the name of an event: a known one, a raw one (r1a8), a tracepoint
 * (sched:sched_switch), one of a PMU (cpu/mem-loads/)? Then no output needs to escape it.
 */
bool event_name_is_plausible(const char *name);

/*
 * The column of an event whose samples have periods of at most `max_period`, 0 = unknown. A period
 * is what the event counted since the sample before: samples of COLUMN_CPU and COLUMN_EVENTS weigh
 * their period, samples of COLUMN_COUNT weigh 1.
 */
enum profile_column event_name_column(const char *name, uint64_t max_period);

#endif
