/* Collection on and off, and what has to be done from time to time while it is on. */
#ifndef SPROF_GPU_AGENT_COLLECT_H
#define SPROF_GPU_AGENT_COLLECT_H

#include <stdbool.h>

/* All of these need the lock (base/lock.h). */

/*
 * Starts NVTX, and with `cuda` GPU data too: `cuda` says that the driver is loaded. Sets the state
 * of the region; failures are reported. Called again, it starts what was missing the first time.
 */
void collect_start(bool cuda);
/*
 * Ends it: disables everything, reads what is in flight and writes the ranges that are still open.
 * Takes at most 250 ms, provided that CUPTI's own functions return.
 */
void collect_stop(void);
/* Every config.flush_ms: asks CUPTI for completed buffers. */
void collect_flush(void);
/* Every 20 ms: keeps what the agent costs within the recorder's limit. */
void collect_govern(void);
/* Every 5 s: where another tool held CUPTI, tries to get it. */
void collect_retry(void);
/* Every tick: where CUDA had not started yet, tries again for a second. */
void collect_retry_early(void);
/* Every second: watches the calls of modules that were loaded since (competing_profiler.h). */
void collect_watch(void);
/* At the end of the process, in the thread that exits. */
void collect_at_exit(void);

#endif
