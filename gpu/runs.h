/*
 * Each time that an NVTX range ran, with the GPU work and the device memory of what was called inside it
 * (the work itself is done later: projected). A run is kept for a while after its end, until what it
 * launched is surely over, and then goes into the sink as a FACT_RANGE_RUN.
 */
#ifndef SPROF_GPU_RUNS_H
#define SPROF_GPU_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/number_map.h"

struct fact_range;
struct gpu_rec_memory;
struct gpu_rec_range;
struct gpu_work;
struct names;

/* What was called inside a run. */
struct run_work {
	uint64_t gpu_ns, launches;
	uint64_t gpu_start_ns, gpu_end_ns; /* 0 = nothing yet */
	int64_t net_bytes, peak_bytes;
};

struct run {
	uint64_t start_ns, end_ns;
	uint64_t seen_ns; /* when the record came */
	struct run_work work;
	uint32_t tid, range;
	uint64_t
		before; /* number of the run before it of the same range and thread, + 1; 0 = none */
};

/* A range in a thread: of one that has not ended only the work is known. */
struct run_lane {
	struct run_work open;
	uint64_t last; /* number of the last run that ended, + 1 */
};

struct runs {
	struct names *names;
	struct run *list; /* those not yet written; number n is list[n - first] */
	size_t nr, capacity;
	uint64_t first;
	struct run_lane *lanes;
	size_t nr_lanes, lanes_capacity;
	struct number_map lane_index; /* by tid and range */
	struct fact_range *started;   /* start/end ranges, which the region has no sums of */
	size_t nr_started, started_capacity;
	struct number_map started_index; /* by name and domain of the region */
	uint64_t nr_left_out;
};

void runs_take_range(struct runs *r, const struct gpu_rec_range *record, uint64_t now_ns);
/* `launch_ns`: when the call was made. */
void runs_take_work(struct runs *r, const struct gpu_work *work, uint64_t launch_ns);
void runs_take_memory(struct runs *r, const struct gpu_rec_memory *record);
/* Writes the runs that ended long enough before now_ns; UINT64_MAX: all. */
void runs_flush(struct runs *r, uint64_t now_ns);
/* Writes the sums of start/end ranges. */
void runs_write_started(struct runs *r);
void runs_fini(struct runs *r);

#endif
