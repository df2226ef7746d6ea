/*
 * Device memory over time: the running total of the driver's allocations and frees, as
 * FACT_GPU_MEMORY. A pool counts with what it has reserved, in use or not. Records come out of
 * order, so they are sorted some seconds late. The first points of a device are all written; after
 * that they are spaced by a share of the time passed, so that a day has some hundred thousand at
 * most. The highest between two is kept.
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
	uint64_t bytes; /* the total; in a change its size */
};

struct memory_change {
	struct memory_point at;
	uint64_t pool;	/* then at.bytes is what the pool has now; 0: not in a pool */
	uint64_t order; /* of arrival */
	uint32_t device;
	bool is_free;
};

struct memory_pool {
	uint64_t address, bytes;
	uint32_t device;
};

struct memory_device {
	uint64_t used_bytes;	       /* allocated outside pools */
	uint64_t pool_bytes;	       /* reserved by pools */
	uint64_t first_ns, written_ns; /* of the points written */
	uint64_t nr_written;
	struct memory_point highest, last; /* since written_ns; time 0: none */
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
/*
 * Writes what happened up to some seconds before now_ns. UINT64_MAX: writes everything, at the end.
 */
void memory_points_flush(struct memory_points *m, uint64_t now_ns);
void memory_points_fini(struct memory_points *m);

#endif
