/*
 * Another profiler of this process that comes after us, torch.profiler say. CUPTI serves one at a time, and whoever is
 * second gets an error; Kineto then never asks again and shows no GPU work. So its call is met on its way: CUPTI is
 * given up first, and asked for again later as always (collect_retry()).
 *
 * What is met is a call that a module makes by its table of imports, which is how Kineto's does it. Who has the
 * function's address from dlsym(), or a table that is read-only by now (full RELRO), gets the error as before.
 */
#ifndef SPROF_GPU_AGENT_COMPETING_PROFILER_H
#define SPROF_GPU_AGENT_COMPETING_PROFILER_H

#include <stdbool.h>

/* Meets the calls of all modules there are; again and again, as modules come. With the lock of collect_*(). */
void competing_profiler_watch(void);
/* Not any more. */
void competing_profiler_ignore(void);
/* Has one that never subscribed taken the place of our buffers? There is no way to see that it has done with them. */
bool competing_profiler_has_buffers(void);

#endif
