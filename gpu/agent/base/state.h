/*
 * What every file of the agent asks first: is this process recorded, what is wanted of it, and
 * where is the region that is shared with the recorder.
 *
 * The agent is a guest in the target: no malloc, no stdio, no lock on the path of a CUDA call. All
 * memory it needs is mapped when a recorder first wants data (prepare.h) and stays until the
 * process ends. A process that is not recorded keeps one sleeping thread and nothing else.
 */
#ifndef SPROF_GPU_AGENT_STATE_H
#define SPROF_GPU_AGENT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"

/*
 * Capacities of the region, in bytes if not in entries. Memory that is not used is not touched.
 */
#define AGENT_STRINGS (4u << 20)
#define AGENT_STACKS (8u << 20)
#define AGENT_RANGES 16384u /* entries */
#define AGENT_FOLDS 32768u  /* entries */
#define AGENT_ESTIMATES 2048u
#define AGENT_FLOPS 8192u
#define AGENT_PC_ROWS 65536u /* entries */
#define AGENT_LANES 32u	     /* 0 is for activities; the last is shared by all further threads */
#define AGENT_LANE_BYTES (512u << 10)
#define AGENT_ACTIVITY_BYTES (8u << 20)

struct agent {
	/*
	 * A page that the kernel zeroes in a forked child: 0 there means that CUPTI must not be
	 * called and that the region is not mapped. NULL until there is a region.
	 */
	volatile uint32_t *alive;
	struct gpu_region *region;
	int region_fd;
	uint32_t collecting; /* atomic: the callbacks and the NVTX client record */
	/*
	 * config.want while collecting. Atomic: a call that began under the last recorder may
	 * still read it.
	 */
	uint32_t want;
	/*
	 * Called at an NVTX call of a forked child, which has no region: makes one if the parent
	 * has not started CUDA. Constant once there is a region.
	 */
	void (*in_child)(void);
};

extern struct agent agent;

/* True while this process is recorded; false in a forked child. Hot paths ask this first. */
static inline bool agent_collects(void)
{
	return __atomic_load_n(&agent.collecting, __ATOMIC_RELAXED) && *agent.alive;
}

/* True where any of these bits of enum gpu_want is wanted. */
static inline bool agent_wants(uint32_t bits)
{
	return __atomic_load_n(&agent.want, __ATOMIC_RELAXED) & bits;
}

/* Zeroed private memory that forks do not inherit; NULL where memory is exhausted. */
void *agent_map(size_t bytes);

/* Tells the recorder where the agent is: enum gpu_state. */
void agent_set_state(uint32_t state);

/* Adds to a counter of the region, from any thread. A locked add: not for hot paths. */
static inline void agent_count(enum gpu_counter counter, uint64_t n)
{
	__atomic_fetch_add(&agent.region->counters[counter], n, __ATOMIC_RELAXED);
}

static inline uint64_t agent_counted(enum gpu_counter counter)
{
	return __atomic_load_n(&agent.region->counters[counter], __ATOMIC_RELAXED);
}

static inline void *agent_area(const struct gpu_area *area)
{
	return (char *)agent.region + area->offset;
}

#endif
