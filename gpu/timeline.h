/*
 * When each GPU had something to run. Work of all its streams goes in as its records come, which is not
 * quite in order; it is looked at some seconds later, in order of time. Each moment that a device is
 * watched is then either busy or idle, so the two add up to the wall, always.
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
	uint32_t tid, stack;			 /* of the launch, as the region numbers them */
	uint32_t graph;				 /* 0: in none */
	uint32_t graph_launch;			 /* which launch of it: its correlation */
	uint8_t class;				 /* enum timeline_class */
};

/* A min-heap of work, by one of its times. */
struct timeline_heap {
	struct timeline_work *items;
	size_t nr, capacity;
};

struct timeline_device {
	bool watched;
	uint64_t start_ns, now_ns; /* everything before now_ns is in the sums */
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
	uint64_t watched_from_ns; /* when collection started; 0: when the first work was launched */
	struct timeline_device devices[TIMELINE_DEVICES];
	uint64_t nr_late; /* came after its place had been passed: its time is in no sum here */
};

void timeline_add(struct timeline *t, uint32_t device, const struct timeline_work *work);
/* Looks at all that happened some seconds before now_ns. */
void timeline_advance(struct timeline *t, uint64_t now_ns);
/* Collection ended at that moment: nothing more comes. */
void timeline_finish(struct timeline *t, uint64_t end_ns);
/* Writes a FACT_GPU_DEVICE for each device known or used. */
void timeline_write_devices(struct timeline *t);
void gpu_timeline_fini(struct timeline *t);

#endif
