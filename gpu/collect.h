/*
 * Turns what libsprof-gpu.so shares from one process into samples and facts of a recording:
 *
 *	shared_region_open(memfd, &region)
 *	gpu_collect_new(region, &opts, sink)
 *	every 100 ms gpu_collect_drain(c, now); finally gpu_collect_finish(c, now)
 *
 * GPU time, launches and bytes come from the sums that the target keeps, which are exact whatever
 * the rings lose. What depends on the order of events (idle time, runs of ranges) comes from the
 * records in the rings; records that the rings dropped are counted.
 */
#ifndef SPROF_GPU_COLLECT_H
#define SPROF_GPU_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/collect_opts.h"

struct gpu_collect;
struct profile;
struct shared_region;
struct sink;

/* Takes ownership of the region. The sink must outlive gpu_collect_finish(). */
struct gpu_collect *gpu_collect_new(struct shared_region *region,
				    const struct gpu_collect_opts *opts, struct sink *sink);

/* Reads the new records; `now_ns` is CLOCK_MONOTONIC. Returns how many there were. */
size_t gpu_collect_drain(struct gpu_collect *c, uint64_t now_ns);

/*
 * Tells the collector of a CPU sample: idle time of a GPU is charged to what the thread that
 * launches was doing. tid is as the target sees it; the stack is an id of the sink.
 */
void gpu_collect_cpu_sample(struct gpu_collect *c, uint32_t tid, uint64_t time_ns, uint32_t stack);

/*
 * After the target has ended or has stopped writing: reads the rest, writes all sums, and closes
 * the region. After that only the two functions below may be called.
 */
void gpu_collect_finish(struct gpu_collect *c, uint64_t now_ns);

/* Names what the symbolizer could not name: frames of CUDA's libraries (names_apply_calls()). */
void gpu_collect_name_frames(const struct gpu_collect *c, struct profile *vocabulary);

void gpu_collect_free(struct gpu_collect *c); /* NULL is fine */

#endif
