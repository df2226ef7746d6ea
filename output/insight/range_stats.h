/*
 * What the repeats of each range took: on the host, on a CPU, on the GPU, in memory. A repeat is
 * one run of a range (core/profile/facts.h). The first repeats are often warm-up and can be left
 * out.
 */
#ifndef SPROF_RANGE_STATS_H
#define SPROF_RANGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fact_range;
struct profile;

/* How a time spreads over repeats. All fields are 0 without repeats. */
struct spread {
	uint64_t nr;			    /* repeats */
	uint64_t mean_ns, stddev_ns;	    /* standard deviation of the sample (n - 1) */
	uint64_t median_ns, p90_ns, p99_ns; /* by nearest rank, so a time that was measured */
	uint64_t min_ns, max_ns;
};

struct range_stats {
	const struct fact_range *range;
	uint64_t repeats; /* what the figures are of */
	uint64_t skipped;
	/*
	 * The repeats whose runs were kept one by one. If 0 there is no spread. The fields from
	 * cpu_ns on are about these runs only.
	 */
	uint64_t nr_runs;
	uint64_t total_ns;
	struct spread wall;
	uint64_t window_ns;   /* from the start of the first run to the end of the last */
	uint64_t cpu_ns;      /* from the CPU samples of its thread inside the runs */
	uint64_t cpu_samples; /* number of those samples */
	uint64_t gpu_ns;      /* sum over the work that was launched inside */
	uint64_t launches;
	/* projected: from the start of a run's first work to the end of its last */
	struct spread gpu;
	int64_t net_bytes;   /* over all runs */
	uint64_t peak_bytes; /* of the run with the most */
	/* The same of GPU memory of tensors; see range_memory.h. */
	int64_t tensor_net_bytes;
	uint64_t tensor_peak_bytes;
};

struct range_table {
	/* a path comes before those inside it; siblings by time, most first */
	struct range_stats *rows;
	size_t nr;
	bool cpu_known; /* the profile has CPU samples */
	bool tensors_known;
};

/* `skip`: the number of repeats of each range, the first by time, that are left out. */
void range_table_init(struct range_table *t, const struct profile *p, uint64_t skip);
void range_table_fini(struct range_table *t);

#endif
