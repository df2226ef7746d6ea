/*
 * What the repeats of each range took: on the host, on a CPU, on the GPU, in memory. A repeat is a run
 * of a range (core/profile/facts.h). The first ones are often warm-up and can be left out.
 */
#ifndef SPROF_RANGE_STATS_H
#define SPROF_RANGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fact_range;
struct profile;

/* How a time is spread over repeats. All 0 where there are none. */
struct spread {
	uint64_t nr;			    /* repeats */
	uint64_t mean_ns, stddev_ns;	    /* of the sample: n - 1 */
	uint64_t median_ns, p90_ns, p99_ns; /* nearest rank: a time that was measured */
	uint64_t min_ns, max_ns;
};

struct range_stats {
	const struct fact_range *range;
	uint64_t repeats; /* what the figures are of */
	uint64_t skipped;
	/*
	 * Repeats whose runs are there one by one: without a spread where 0, and the fields from
	 * cpu_ns on are of them alone.
	 */
	uint64_t nr_runs;
	uint64_t total_ns;
	struct spread wall;
	uint64_t window_ns;   /* from the start of the first run to the end of the last */
	uint64_t cpu_ns;      /* by the CPU samples of its thread inside it */
	uint64_t cpu_samples; /* how many those are */
	uint64_t gpu_ns;      /* sum over what was launched inside */
	uint64_t launches;
	struct spread gpu;   /* projected: start of the first to end of the last work of a run */
	int64_t net_bytes;   /* over all runs */
	uint64_t peak_bytes; /* of the highest run */
};

struct range_table {
	struct range_stats *rows; /* a path before those inside it, siblings most time first */
	size_t nr;
	bool cpu_known; /* the profile has CPU samples */
};

/* `skip`: so many repeats of each range, the first by time, are left out. */
void range_table_init(struct range_table *t, const struct profile *p, uint64_t skip);
void range_table_fini(struct range_table *t);

#endif
