/*
 * Who kept a GPU waiting. A gap ends when some work starts, so the question is why that work did not
 * start earlier; the gap is cut into stretches, and each has one answer, a reason and a stack:
 *
 *	the call that launched it had not been made	the thread sat in a synchronization: its stack;
 *							else it was late: what the CPU samples of the
 *							thread saw it do, or where it launched from
 *	the call was being made or had just been	launch latency
 *	it had been queued before the gap began		it waited for other work, or inside a graph
 *
 * Samples of COLUMN_GPU_IDLE carry the reason as the name of their thread: "GPU 0 idle: launched late".
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
	IDLE_END,     /* nothing was launched any more */
	NR_IDLE_REASONS
};

/* A gap, and the work that ended it. */
struct idle_gap {
	uint64_t start_ns, end_ns;
	uint64_t launch_start_ns, launch_end_ns; /* 0: not seen */
	uint32_t device;
	uint32_t tid;
	uint32_t stack; /* of the launch, in the region */
	bool in_graph;
};

/* Time that one stack, device and reason answer for, not yet in the sink. */
struct idle_sum {
	uint64_t ns, gaps;
	uint32_t device, reason, stack;
};

struct blame {
	struct names *names;
	struct stack_builder *builder;
	struct recent syncs;	  /* calls that wait; stacks of the region */
	struct recent samples;	  /* on a CPU; stacks of the sink */
	struct number_map stacks; /* region -> sink, + 1 */
	struct idle_sum *sums;
	size_t nr_sums, sums_capacity;
	struct number_map sum_index; /* by stack, device and reason */
};

void blame_gap(struct blame *b, const struct idle_gap *gap);
/* Time after the last work. */
void blame_end(struct blame *b, uint32_t device, uint64_t ns);
void blame_flush(struct blame *b, uint64_t now_ns);
void blame_fini(struct blame *b);

#endif
