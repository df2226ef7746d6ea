/*
 * Turns what libsprof-gpu.so shares from one process into samples and facts of a recording:
 *
 *	shared_region_open(memfd, &region)
 *	gpu_collect_new(region, &opts, sink)
 *	each 100 ms gpu_collect_drain(c, now); at last gpu_collect_finish(c, now)
 *
 * GPU time, launches and bytes come from the sums that the target keeps, which are exact whatever
 * happens to the rings; what needs the order of events (idle time, runs of ranges) comes from the
 * records in the rings, and what those dropped is counted.
 */
#ifndef SPROF_GPU_COLLECT_H
#define SPROF_GPU_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/collect_opts.h"

struct gpu_collect;
struct shared_region;
struct sink;

/* The region becomes the collector's. The sink must be there until gpu_collect_finish(). */
struct gpu_collect *gpu_collect_new(struct shared_region *region,
				    const struct gpu_collect_opts *opts, struct sink *sink);

/* Takes what has come; `now_ns` is CLOCK_MONOTONIC. Returns how many records that were. */
size_t gpu_collect_drain(struct gpu_collect *c, uint64_t now_ns);

/*
 * A CPU sample of a thread of the target, its stack in the sink: idle time of a GPU is charged to what
 * the thread that should have fed it was doing. tid as the target sees it.
 */
void gpu_collect_cpu_sample(struct gpu_collect *c, uint32_t tid, uint64_t time_ns, uint32_t stack);

/* The target has ended, or writes nothing any more: takes the rest and writes every sum out. */
void gpu_collect_finish(struct gpu_collect *c, uint64_t now_ns);

void gpu_collect_free(struct gpu_collect *c); /* NULL is fine */

#endif
