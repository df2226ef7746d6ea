/*
 * Device memory over time: what the driver's allocations and frees add up to at each moment, as
 * FACT_GPU_MEMORY. Their records come out of order and are looked at some seconds later. The first points of
 * a device are all written; after that they are as far apart as a share of the time that has passed, so that
 * a day has some hundred thousand at most, and the highest between two is kept.
 */
#ifndef SPROF_GPU_MEMORY_POINTS_H
#define SPROF_GPU_MEMORY_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_rec_memory;
struct names;

struct memory_point {
	uint64_t time_ns;
	uint64_t bytes; /* in use; of a change: its size */
};

struct memory_change {
	struct memory_point at;
	uint32_t device;
	bool is_free;
};

struct memory_device {
	uint64_t used_bytes;
	uint64_t first_ns, written_ns; /* of the points written */
	uint64_t nr_written;
	struct memory_point highest, last; /* since then; time 0: nothing happened */
};

enum { MEMORY_DEVICES = 64 }; /* GPU_MAX_DEVICES */

struct memory_points {
	struct names *names;
	struct memory_change *waiting;
	size_t nr, capacity;
	struct memory_device devices[MEMORY_DEVICES];
};

void memory_points_take(struct memory_points *m, const struct gpu_rec_memory *record);
/* Writes what happened some seconds before now_ns; UINT64_MAX: everything, and nothing comes after it. */
void memory_points_flush(struct memory_points *m, uint64_t now_ns);
void memory_points_fini(struct memory_points *m);

#endif
