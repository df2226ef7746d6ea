/*
 * The names of enum gpu_counter, for people and programs.
 * lint: table
 */
#include "gpu/counters.h"

#include <stddef.h>

#include "core/profile/facts.h"
#include "gpu/agent/base/region.h"

const char *gpu_counter_name(uint32_t counter)
{
	static const char *const names[] = {
		[GPU_COUNT_KERNELS] = "kernels",
		[GPU_COUNT_MEMCPYS] = "copies",
		[GPU_COUNT_MEMSETS] = "fills",
		[GPU_COUNT_SYNCS] = "synchronizations",
		[GPU_COUNT_OVERHEADS] = "overheads",
		[GPU_COUNT_GRAPHS] = "graph launches",
		[GPU_COUNT_MEMORY] = "memory events",
		[GPU_COUNT_POOL] = "pool events",
		[GPU_COUNT_OTHER] = "activities of other kinds",
		[GPU_COUNT_UNTIMED] = "activities without a time",
		[GPU_COUNT_CUPTI_DROPPED] = "activities dropped by CUPTI",
		[GPU_COUNT_NO_BUFFER] = "times without a buffer",
		[GPU_COUNT_DISCARDED] = "activities discarded",
		[GPU_COUNT_BAD_RECORD] = "activities not readable",
		[GPU_COUNT_LAUNCHES] = "calls that want a stack",
		[GPU_COUNT_STACK_WALKED] = "stacks walked",
		[GPU_COUNT_STACK_CACHED] = "stacks the same as before",
		[GPU_COUNT_STACK_SHORT] = "calls too short for a stack",
		[GPU_COUNT_STACK_ARENA_FULL] = "stacks without room",
		[GPU_COUNT_STRING_ARENA_FULL] = "names without room",
		[GPU_COUNT_NO_LAUNCH] = "activities without a launch",
		[GPU_COUNT_FOLD_FULL] = "activities summed without a stack",
		[GPU_COUNT_RANGE_FULL] = "ranges without room",
		[GPU_COUNT_RANGE_UNBALANCED] = "ranges not balanced",
		[GPU_COUNT_RANGE_DEEP] = "ranges too deep",
		[GPU_COUNT_THREADS] = "threads",
		[GPU_COUNT_LANES_SHARED] = "threads in the common ring",
		[GPU_COUNT_BUFFERS] = "buffers",
		[GPU_COUNT_CALLBACK_NS] = "ns in callbacks",
		[GPU_COUNT_NVTX_CALLS] = "NVTX calls",
		[GPU_COUNT_NVTX_ADOPTED] = "NVTX copies adopted late",
		[GPU_COUNT_GRAPH_NODES] = "activities in graphs",
		[GPU_COUNT_OUTSIDE] = "activities outside the capture range",
		[GPU_COUNT_RUNNING] = COUNTER_STILL_RUNNING,
		[GPU_COUNT_NOT_BEGUN] = "activities not begun at the end",
		[GPU_COUNT_NODES_LEFT_OUT] = "nodes of graphs without room",
	};

	return counter < sizeof(names) / sizeof(*names) ? names[counter] : NULL;
}
