/*
 * Device memory over time: what the driver's allocations and frees add up to at each moment, as
 * FACT_GPU_MEMORY. What comes from a pool counts as what the pool has reserved, in use or not. Their records come out of order and are looked at some seconds later. The first points of
 * a device are all written; after that they are as far apart as a share of the time that has passed, so that
 * a day has some hundred thousand at most, and the highest between two is kept.
 */
#ifndef SPROF_GPU_MEMORY_POINTS_H
#define SPROF_GPU_MEMORY_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_rec_memory;
struct gpu_rec_pool;
struct names;

struct memory_point {
	uint64_t time_ns;
	uint64_t bytes; /* in use; of a change: its size */
};

struct memory_change {
	struct memory_point at;
	uint64_t pool;	/* at.bytes is what it has now; 0: of no pool */
	uint64_t order; /* in which the records came */
	uint32_t device;
	bool is_free;
};

struct memory_pool {
	uint64_t address, bytes;
	uint32_t device;
};

struct memory_device {
	uint64_t used_bytes;	       /* of no pool */
	uint64_t pool_bytes;	       /* that pools have of the device */
	uint64_t first_ns, written_ns; /* of the points written */
	uint64_t nr_written;
	struct memory_point highest, last; /* since then; time 0: nothing happened */
};

enum { MEMORY_DEVICES = 64 }; /* GPU_MAX_DEVICES */

struct memory_points {
	struct names *names;
	struct memory_change *waiting;
	size_t nr, capacity;
	uint64_t order;
	struct memory_device devices[MEMORY_DEVICES];
	struct memory_pool *pools;
	size_t nr_pools, pools_capacity;
};

void memory_points_take(struct memory_points *m, const struct gpu_rec_memory *record);
void memory_points_take_pool(struct memory_points *m, const struct gpu_rec_pool *record);
/* Writes what happened some seconds before now_ns; UINT64_MAX: everything, and nothing comes after it. */
void memory_points_flush(struct memory_points *m, uint64_t now_ns);
void memory_points_fini(struct memory_points *m);

#endif
