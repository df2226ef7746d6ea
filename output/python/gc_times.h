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
struct grid_report_opts;
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

/*
 * A row for the whole, then one per line. `with_counts`: the whole has the number of collections, and a table
 * of the generations goes before; false where a filter took samples out, as it could take out no counts.
 */
void gc_times_write(struct buffer *b, const struct gc_times *times, const struct profile *p,
		    const struct summary *summary, bool with_counts,
		    const struct grid_report_opts *opts);

#endif
