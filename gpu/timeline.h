/*
 * When each GPU was busy. Records of work come late and out of order, so work is placed some
 * seconds late, in order of time, and never past a call whose work has no record yet. From then on every moment of a watched device is either busy or
 * idle: the two always add up to the wall time.
 */
#ifndef SPROF_GPU_TIMELINE_H
#define SPROF_GPU_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blame;
struct names;

enum timeline_class {
	TIMELINE_KERNEL,
	TIMELINE_COMMUNICATION, /* kernels of NCCL and its like */
	TIMELINE_COPY,
	NR_TIMELINE_CLASSES
};

struct timeline_work {
	uint64_t start_ns, end_ns;
	uint64_t launch_start_ns, launch_end_ns; /* 0: not seen */
	uint32_t tid, stack;			 /* of the launch; the stack is one of the region */
	uint32_t graph;				 /* 0: not in a graph */
	uint32_t graph_launch;			 /* the correlation of the graph's launch */
	uint8_t class;				 /* enum timeline_class */
};

/* A min-heap of work, by start or by end. */
struct timeline_heap {
	struct timeline_work *items;
	size_t nr, capacity;
};

struct timeline_device {
	bool watched;
	uint64_t start_ns, now_ns; /* the sums are complete up to now_ns */
	uint64_t busy_ns, idle_ns, kernel_ns, copy_ns, overlap_ns, exposed_ns;
	struct timeline_heap waiting; /* by start */
	struct timeline_heap running; /* by end */
	uint32_t nr_running[NR_TIMELINE_CLASSES];
	uint32_t last_graph_launch; /* of the work that ended last */
};

enum { TIMELINE_DEVICES = 64 }; /* GPU_MAX_DEVICES */

struct timeline {
	struct names *names;
	struct blame *blame;
	uint64_t watched_from_ns; /* when collection started; 0: watch from the first launch on */
	struct timeline_device devices[TIMELINE_DEVICES];
	uint64_t nr_late; /* work that came too late: some or all of its time is in no sum */
};

void timeline_add(struct timeline *t, uint32_t device, const struct timeline_work *work);
/*
 * Places all work up to some seconds before now_ns, and up to awaited_ns, the start of the oldest
 * call whose work has no record yet.
 */
void timeline_advance(struct timeline *t, uint64_t now_ns, uint64_t awaited_ns);
/* Places the rest; the time up to end_ns is idle. */
void timeline_finish(struct timeline *t, uint64_t end_ns);
/* Writes a FACT_GPU_DEVICE for each device that is known or was used. */
void timeline_write_devices(struct timeline *t);
void gpu_timeline_fini(struct timeline *t);

#endif
