/*
 * Time in CPython's garbage collector, by the Python line that was running when it began: the
 * innermost Python frame outside the outermost function of the collector. Code that runs inside,
 * such as finalizers, is part of the pause.
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
	uint32_t function; /* of the profile; PROFILE_NONE: no Python code was running */
	uint32_t line;	   /* 0 = unknown */
	uint64_t value, events;
};

struct gc_times {
	struct gc_row *rows; /* most time first */
	size_t nr_rows;
	uint64_t value, events; /* sums over all rows, in the unit of the column */
	/*
	 * Exact counts (sprof record --calls gc), by process and generation; owned by the profile.
	 */
	const struct fact_gc *counted;
	size_t nr_counted;
	/*
	 * An interpreter has no names of functions: few of its collections are seen, mostly that
	 * of gc.collect() at exit.
	 */
	bool is_stripped;
};

void gc_times_init(struct gc_times *times, const struct profile *p, enum profile_column column);
void gc_times_fini(struct gc_times *times);

/*
 * Writes a row for the whole, then one per line. With `with_counts` the whole has the number of
 * collections, and a table of the generations comes first; it must be false if a filter removed
 * samples, because counts cannot be filtered.
 */
void gc_times_write(struct buffer *b, const struct gc_times *times, const struct profile *p,
		    const struct summary *summary, bool with_counts,
		    const struct grid_report_opts *opts);

#endif
