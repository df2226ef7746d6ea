/*
 * What each call asks of the governor (gpu/agent/governor.c), which keeps what the agent costs
 * within a limit, and what it is told of the time that callbacks and buffers take.
 */
#ifndef SPROF_GPU_AGENT_COST_H
#define SPROF_GPU_AGENT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/thread.h"

/* Atomic. Read by every call, so they are not behind a function. */
struct governor_state {
	uint32_t works;	      /* there is a limit */
	uint32_t only_counts; /* calls are counted, and nothing else */
	uint32_t window;      /* the number of the open window; 0 = none */
	uint32_t has_paused;
	uint32_t is_paused; /* calls pass the gate of launches, and nothing is noted */
	uint64_t buffer_ticks;
};
extern struct governor_state governor;

static inline bool governor_only_counts(void)
{
	return __atomic_load_n(&governor.only_counts, __ATOMIC_RELAXED);
}

/* The window in which a call is made, 1 .., or 0 while everything is collected. */
static inline uint32_t governor_window(void)
{
	return __atomic_load_n(&governor.window, __ATOMIC_RELAXED);
}

/* Then calls are missing, and work whose call is not known belongs to none that was collected. */
static inline bool governor_has_paused(void)
{
	return __atomic_load_n(&governor.has_paused, __ATOMIC_RELAXED);
}

static inline bool governor_is_paused(void)
{
	return __atomic_load_n(&governor.is_paused, __ATOMIC_RELAXED);
}

/* Such a call costs what the beginning of a callback does. */
static inline void governor_pay_for_gate(void)
{
	struct thread *t = thread_self();

	if (t)
		thread_count(t, THREAD_CALLS, 1);
}

/* At the end of a callback that began at that tick. */
static inline void governor_pay(struct thread *t, uint64_t begun)
{
	if (__builtin_expect(!__atomic_load_n(&governor.works, __ATOMIC_RELAXED), 1))
		return;
	thread_count(t, THREAD_CALLS, 1);
	if (!(t->counts[THREAD_CALLS] & 15))
		thread_count(t, THREAD_COST_TICKS, clock_ticks() - begun);
}

static inline void governor_pay_for_buffer(uint64_t ticks)
{
	__atomic_fetch_add(&governor.buffer_ticks, ticks, __ATOMIC_RELAXED);
}

#endif
