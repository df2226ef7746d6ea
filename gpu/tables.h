/*
 * The tables of the region, written into the sink as facts: API calls, ranges, counters, failures.
 * A row is written again whenever it has changed; the last one counts.
 */
#ifndef SPROF_GPU_TABLES_H
#define SPROF_GPU_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"
#include "gpu/agent/base/region.h"

struct fact_gpu_api;
struct names;
struct sums;

struct tables {
	struct names *names;
	const struct sums *sums;   /* to be flushed before the tables */
	struct fact_gpu_api *apis; /* summed over the lanes */
	size_t nr_apis, apis_capacity;
	uint64_t *written_apis;	     /* number of calls when written */
	struct number_map api_index; /* by domain and string of the region */
	uint64_t *written_ranges;    /* by range id: range_state() when written */
	size_t nr_written_ranges, written_ranges_capacity;
	uint64_t written_counters[GPU_MAX_COUNTERS];
	uint64_t written_failures[GPU_MAX_FAILURES];
};

/* Writes the rows that have changed. */
void tables_flush(struct tables *t);
/* Writes a counter of the recorder's own, beside those of the target. */
void tables_write_counter(struct tables *t, const char *name, uint64_t value);
void tables_fini(struct tables *t);

#endif
