/*
 * Holds all threads of a process at once, for as long as it takes to write a few bytes of its code.
 * Must be called where inject_run() calls its work, with no thread held.
 */
#ifndef SPROF_HOLD_THREADS_H
#define SPROF_HOLD_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inject_process;
struct held_threads;
struct quiesce_range;

/*
 * 0; -EBUSY: a thread did not stop in time, or more threads began than could be followed; -ESRCH:
 * the process has ended. After an error none is held.
 */
int hold_threads(const struct inject_process *process, unsigned int limit_ms,
		 struct held_threads **ret);
void hold_threads_release(struct held_threads *held); /* frees it; NULL is fine */

/*
 * May a held thread be inside one of the ranges, or come back there? Its pc is looked at, and each
 * word of the 64 KiB of its stack that are nearest: a signal handler that runs has left the pc that
 * it interrupted there.
 */
bool hold_threads_inside(const struct held_threads *held, const struct quiesce_range *ranges,
			 size_t nr);
/*
 * The same for code whose calls are counted: a return address into it may be old, as functions do
 * not clear their frames. So of the stack only the pcs count that signal handlers have interrupted.
 */
bool hold_threads_interrupted(const struct held_threads *held, const struct quiesce_range *ranges,
			      size_t nr);
/* How many are held, and since when (CLOCK_MONOTONIC). */
size_t hold_threads_nr(const struct held_threads *held);
uint64_t hold_threads_since_ns(const struct held_threads *held);

#endif
