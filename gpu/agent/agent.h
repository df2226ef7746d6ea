/*
 * The agent's state, and what its files say to each other.
 *
 * A guest: no malloc, no stdio, no lock on the path of a CUDA call. Everything it needs is mapped
 * when a recorder first wants data (agent_prepare) and stays until the process ends; a process that
 * nobody records keeps one sleeping thread and nothing else.
 */
#ifndef SPROF_GPU_AGENT_H
#define SPROF_GPU_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"

/* What the region holds; fixed, so that memory is (bytes). Touched only as far as it is used. */
#define AGENT_STRINGS (4u << 20)
#define AGENT_STACKS (8u << 20)
#define AGENT_RANGES 16384u /* entries */
#define AGENT_FOLDS 32768u  /* entries */
#define AGENT_LANES 32u	    /* 0: activity; the last: shared by all further threads */
#define AGENT_LANE_BYTES (512u << 10)
#define AGENT_ACTIVITY_BYTES (8u << 20)

struct agent {
	/*
	 * The page that fork wipes: `*alive` is 0 in a forked child, which must not call CUPTI, and
	 * whose region is not mapped. NULL until there is a region.
	 */
	volatile uint32_t *alive;
	struct gpu_region *region;
	int region_fd;
	uint32_t collecting; /* atomic: the callbacks and the NVTX client record */
	uint32_t generation; /* atomic: of collecting; ranges pushed in another one are forgotten */
	/* What the recorder asked for. Atomic: calls of the time before may be under way when the next recorder's comes. */
	uint32_t want; /* config.want while collecting */
	uint32_t stack_classes;
	uint64_t stack_min_ticks;
	uint32_t max_frames;
	uint32_t capture;      /* enum gpu_capture */
	uint32_t nr_capturing; /* atomic: what holds the window of capture open */
};

extern struct agent agent;

/* Is this process recorded, and not a forked child of one? The first thing that hot paths ask. */
static inline bool agent_collects(void)
{
	return __atomic_load_n(&agent.collecting, __ATOMIC_RELAXED) && *agent.alive;
}

/* Any of these enum gpu_want? */
static inline bool agent_wants(uint32_t bits)
{
	return __atomic_load_n(&agent.want, __ATOMIC_RELAXED) & bits;
}

static inline uint32_t agent_capture(void)
{
	return __atomic_load_n(&agent.capture, __ATOMIC_RELAXED);
}

/* The lock of collect_*(). False after a second: at exit it is better to lose data than to hang. */
bool agent_lock(void);
void agent_unlock(void);

/* Makes and maps the region and the private tables, once. 0 or -errno, said. */
int agent_prepare(void);

/*
 * Empties what the next recorder is not to hear of: all that was counted, summed up and said for the last one. What is
 * known stays: strings, stacks, paths of ranges, devices and what is allocated on them. While nobody collects.
 */
void agent_forget(void);

/* Zeroed, private, not inherited by forks; NULL where memory is exhausted. */
void *agent_map(size_t bytes);

/* A counter of the region; from any thread, rarely (a locked add). */
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
