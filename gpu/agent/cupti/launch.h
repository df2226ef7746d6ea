/* From a correlation id to the call that CUPTI gave it to: its stack, range, thread and start. */
#ifndef SPROF_GPU_AGENT_LAUNCH_H
#define SPROF_GPU_AGENT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct launch_info {
	uint32_t stack, range, tid;
	uint64_t start_ns;
	bool awaits_record; /* of what the GPU does */
	bool is_of_graph;   /* it launches a graph */
	uint32_t window;    /* governor_window() */
	uint32_t flops;	    /* entry of the call of a mathematical library around it, 0 = none */
};

int launch_init(void); /* 0 or -ENOMEM */
/* Called at the call's exit, by its thread. */
void launch_note(uint32_t correlation, const struct launch_info *info);
/* False if the call was not seen, or 2^19 later calls have been noted since. */
bool launch_find(uint32_t correlation, struct launch_info *ret);
/* A record of the call has come. */
void launch_has_record(uint32_t correlation);
/*
 * The latest id of the calls that began since then; 0: there is none. Looks through the whole
 * table, which takes some ms.
 */
uint32_t launch_latest(uint64_t since_ns);
/*
 * True while a call since then still awaits its record. Looks through the whole table the first
 * time (`again` is false), which takes some ms, and then at what it found.
 */
bool launch_awaits_any(uint64_t since_ns, bool again);

#endif
