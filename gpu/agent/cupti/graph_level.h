/*
 * Tracing of whole CUDA graphs instead of their kernels, before CUPTI runs out of device memory:
 * each kernel of a graph uses up its place in CUPTI's device buffers for good, and when all are
 * used up, nothing that runs has times any more.
 */
#ifndef SPROF_GPU_AGENT_GRAPH_LEVEL_H
#define SPROF_GPU_AGENT_GRAPH_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

/* A record of work in a graph was read. One caller at a time. */
void graph_level_count(uint32_t device);
/* Records without times were read: the device memory is used up, whatever we counted. */
void graph_level_used_up(void);
bool graph_level_is_used_up(void);
/* CUPTI was unloaded, and with it what was used up. */
void graph_level_forget(void);

/* True if kernels in graphs should no longer be recorded: once in a while, with the lock. */
bool graph_level_is_due(void);

#endif
