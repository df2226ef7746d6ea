/*
 * Time in CPython's garbage collector, by the line of Python that was running when it began: the
 * innermost Python frame outside the outermost of the collector's functions. What runs inside, such as
 * finalizers, is part of the pause.
 */
#ifndef SPROF_GC_TIMES_H
#define SPROF_GC_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct buffer;
struct fact_gc;
struct summary;

struct gc_row {
	uint32_t function; /* of the profile; PROFILE_NONE: no Python was running */
	uint32_t line;	   /* 0 = unknown */
	uint64_t value, events;
};

struct gc_times {
	struct gc_row *rows; /* most time first */
	size_t nr_rows;
	uint64_t value, events; /* of all of them, in the unit of the column */
	/* What was counted (sprof record --calls gc), by process and generation; the profile's. */
	const struct fact_gc *counted;
	size_t nr_counted;
	/* An interpreter whose functions have no names: of it, little but gc.collect() at exit is seen. */
	bool is_stripped;
};

void gc_times_init(struct gc_times *times, const struct profile *p, enum profile_column column);
void gc_times_fini(struct gc_times *times);

struct gc_times_opts {
	bool json;
	uint32_t max_rows; /* 0 = all */
	size_t columns;	   /* of the terminal, which names are cut to; 0 = never cut */
	bool is_whole;	   /* nothing was filtered: what was counted may be shown */
	bool unicode;	   /* in text, else ASCII */
};

/*
 * A row for the whole, then one per line. Samples count no collections: a dash, or null; where they were counted the whole
 * has their number, and a table of the generations goes before.
 */
void gc_times_write(struct buffer *b, const struct gc_times *times, const struct profile *p,
		    const struct summary *summary, const struct gc_times_opts *opts);

#endif
