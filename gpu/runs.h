/*
 * Every run of an NVTX range, with the GPU work and the device memory of the calls made inside it.
 * That work is done later than the run. So a run is kept until what it launched has surely
 * finished, and then written as a FACT_RANGE_RUN.
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

/* What the calls inside a run caused. */
struct run_work {
	uint64_t gpu_ns, launches;
	uint64_t gpu_start_ns, gpu_end_ns; /* 0 = no work yet */
	int64_t net_bytes, peak_bytes;
};

struct run {
	uint64_t start_ns, end_ns;
	uint64_t seen_ns; /* when its record was read */
	struct run_work work;
	uint32_t tid, range;
	uint64_t before; /* number of the run before, of the same range and thread, + 1; 0 = none */
};

/* A range in a thread. Of a run that has not ended only the work is known. */
struct run_lane {
	struct run_work open;
	uint64_t last; /* number of the last run that ended, + 1 */
};

struct runs {
	struct names *names;
	struct run *list; /* runs not written yet; number n is list[n - first] */
	size_t nr, capacity;
	uint64_t first;
	struct run_lane *lanes;
	size_t nr_lanes, lanes_capacity;
	struct number_map lane_index; /* by tid and range */
	struct fact_range *started;   /* sums of start/end ranges: the region has none */
	size_t nr_started, started_capacity;
	struct number_map started_index; /* by name and domain of the region */
	uint64_t nr_left_out;
};

void runs_take_range(struct runs *r, const struct gpu_rec_range *record, uint64_t now_ns);
/* launch_ns: when its call was made. */
void runs_take_work(struct runs *r, const struct gpu_work *work, uint64_t launch_ns);
void runs_take_memory(struct runs *r, const struct gpu_rec_memory *record);
/*
 * Writes the runs that ended long enough before now_ns, and before awaited_ns, the start of the
 * oldest call whose work has no record yet. UINT64_MAX twice: all.
 */
void runs_flush(struct runs *r, uint64_t now_ns, uint64_t awaited_ns);
/* Writes the sums of start/end ranges. */
void runs_write_started(struct runs *r);
void runs_fini(struct runs *r);

#endif
