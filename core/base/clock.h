/* The clock of all times in recordings (CLOCK_MONOTONIC), and others. */
#ifndef SPROF_CLOCK_H
#define SPROF_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* CLOCK_MONOTONIC, ns. Async-signal-safe. */
static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t monotonic_ms(void)
{
	return monotonic_ns() / NS_PER_MS;
}

/* CLOCK_BOOTTIME, ns: like CLOCK_MONOTONIC, but it goes on while the machine sleeps. */
static inline int64_t boottime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Unix time, ns. */
static inline uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/*
 * CPU time of the calling thread, ns: the cost of its work, without waits for a CPU, which on a
 * busy machine take most of the elapsed time.
 */
static inline uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
