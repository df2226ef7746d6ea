/* Collection on and off: subscribing to CUPTI, enabling kinds and callbacks, and leaving. */
#ifndef SPROF_GPU_AGENT_COLLECT_H
#define SPROF_GPU_AGENT_COLLECT_H

#include <stdbool.h>

/* One caller at a time for all of these (agent.c holds the lock). */

/*
 * NVTX from now on, and GPU data too once `cuda` says that the driver is there. Sets the state of the
 * region; what cannot be had is said. May be called again: it then goes on with what is missing.
 */
void collect_start(bool cuda);
/* Ends it: everything disabled, what is in flight read, open ranges written. Takes 250 ms at most
 * where CUPTI's own functions return. */
void collect_stop(void);
/* Each tick while collecting: completed buffers are asked for. */
void collect_flush(void);
/* Someone else holds CUPTI: is it free now? Each 5 s. */
void collect_retry(void);
/* Each second: modules that came meanwhile are met as well (competing_profiler.h). */
void collect_watch(void);
/* Another one is about to subscribe, or to put its buffers in the place of ours: ours ends here, as if stopped, and
 * the state is WAITING. `caller`: where in its code that is. */
void collect_make_way(const void *caller, bool subscribes);
/* Was there anything to give up, the last time? */
bool collect_made_way(void);
/* At the end of the process, by the thread that exits. */
void collect_at_exit(void);

#endif
