/*
 * Another profiler in this process that starts after us, torch.profiler for example. CUPTI has one
 * subscriber at a time and the second gets an error; Kineto then never asks again and shows no GPU
 * work. So the other profiler's call is intercepted: our subscription is given up first, and taken
 * again later (collect_retry()).
 *
 * Only calls through a module's import table can be intercepted, which is how Kineto calls CUPTI.
 * A caller that got the address from dlsym(), or whose table is read-only by now (full RELRO),
 * sees the error as before.
 */
#ifndef SPROF_GPU_AGENT_COMPETING_PROFILER_H
#define SPROF_GPU_AGENT_COMPETING_PROFILER_H

#include <stdbool.h>

/* Both need the lock (base/lock.h). */

/*
 * Intercepts the calls of all modules that are loaded now; call it again for those that come later.
 */
void competing_profiler_watch(void);
/* Puts the import tables back. */
void competing_profiler_ignore(void);

/*
 * True after a tool that never subscribed has replaced our buffers by its own. CUPTI does not tell
 * when such a tool is done.
 */
bool competing_profiler_has_buffers(void);

#endif
