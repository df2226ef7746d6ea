/*
 * Why a GPU was idle, and which stack is responsible. A gap ends when some work starts, so the
 * question is why that work did not start earlier. The gap is cut into stretches; each gets a
 * reason and a stack:
 *
 *	the thread was in a synchronization before the call	its stack
 *	the thread was late with the call			its CPU samples, or the call's
 *	during the call and right after it			the call's: launch latency
 *	called before the gap began				the call's: queued, or in a graph
 *
 * In samples of COLUMN_GPU_IDLE the thread name carries the reason: "GPU 0 idle: launched late".
 */
#ifndef SPROF_GPU_BLAME_H
#define SPROF_GPU_BLAME_H

#include <stdint.h>

#include "core/base/number_map.h"
#include "gpu/recent.h"

struct names;
struct stack_builder;

enum idle_reason {
	IDLE_LATE,
	IDLE_SYNC,
	IDLE_LATENCY,
	IDLE_QUEUED,
	IDLE_GRAPH,
	IDLE_UNKNOWN, /* the launch was not seen */
	IDLE_END,     /* nothing more was launched */
	NR_IDLE_REASONS
};

/* A gap and the work that ended it. */
struct idle_gap {
	uint64_t start_ns, end_ns;
	uint64_t launch_start_ns, launch_end_ns; /* 0: the launch was not seen */
	uint32_t device;
	uint32_t tid;
	uint32_t stack; /* of the launch, in the region */
	bool in_graph;
};

/* Idle time of one stack, device and reason that is not in the sink yet. */
struct idle_sum {
	uint64_t ns, gaps;
	uint32_t device, reason, stack;
};

struct blame {
	struct names *names;
	struct stack_builder *builder;
	struct recent syncs;	  /* calls that wait for the GPU; stacks of the region */
	struct recent samples;	  /* CPU samples; stacks of the sink */
	struct number_map stacks; /* of the region -> of the sink */
	struct idle_sum *sums;
	size_t nr_sums, sums_capacity;
	struct number_map sum_index; /* by stack, device and reason */
};

/* The sink's stack of a launch, without its ranges; `region_stack` is a stack of the region. */
uint32_t blame_stack(struct blame *b, uint32_t region_stack);
void blame_gap(struct blame *b, const struct idle_gap *gap);
/* Adds the idle time after a device's last work. */
void blame_end(struct blame *b, uint32_t device, uint64_t ns);
/* Writes the sums as samples of that time. */
void blame_flush(struct blame *b, uint64_t now_ns);
void blame_fini(struct blame *b);

#endif
