/*
 * The lock under which collection starts, stops and is looked after. The agent's own thread takes
 * it, the thread that exits, and threads of the target in which another profiler subscribes to
 * CUPTI. Recording a call or a range never takes it.
 */
#ifndef SPROF_GPU_AGENT_LOCK_H
#define SPROF_GPU_AGENT_LOCK_H

#include <stdbool.h>

/* False after one second without the lock: at exit it is better to lose data than to hang. */
bool agent_lock(void);
void agent_unlock(void);
/* In a forked child: the thread that held it is not here. */
void agent_lock_in_child(void);

/* Sleeps, for callers that poll. */
void agent_pause_us(long us);

#endif
