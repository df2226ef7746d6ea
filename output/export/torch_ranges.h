/*
 * Runs of NVTX ranges of one process, and which GPU work was launched inside each: what
 * torch.profiler calls annotations of the host and of the GPU.
 */
#ifndef SPROF_TORCH_RANGES_H
#define SPROF_TORCH_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct torch_range {
	uint32_t name;	 /* string */
	uint32_t thread; /* thread, or PROFILE_NONE */
	uint64_t start_ns, end_ns;
	uint32_t first; /* extent, whose `next` is the next one of the range; UINT32_MAX: none */
	uint32_t nr_extents;
	uint32_t crosses; /* it may end in another thread: nothing is counted as inside of it */
};

/* The work of a range in one stream: from the start of the first to the end of the last. */
struct torch_extent {
	uint64_t device, stream;
	uint64_t start_ns, end_ns;
	uint32_t range; /* in torch_ranges.list */
	uint32_t next;	/* extent of the same range; UINT32_MAX: none */
};

struct torch_ranges {
	struct torch_range *list;
	struct torch_extent *extents;
	uint32_t *of_activity; /* 1 + index in list of the innermost range, 0 = none */
	size_t nr, nr_extents, extents_capacity;
};

void torch_ranges_init(struct torch_ranges *r, const struct profile *p, uint32_t pid);
void torch_ranges_fini(struct torch_ranges *r);

/* 1 + the index of the innermost range around the call of a row of FACT_GPU_ACTIVITY, or 0. */
static inline uint32_t torch_ranges_of(const struct torch_ranges *r, size_t activity)
{
	return r->of_activity[activity];
}

#endif
