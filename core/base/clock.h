/* The clock of all times in recordings, and three more. */
#ifndef SPROF_CLOCK_H
#define SPROF_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, ns. Async-signal-safe. */
static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_BOOTTIME, ns: as above, and it goes on while the machine sleeps. */
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
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * CPU time of the calling thread, ns: what work has cost. On a busy machine most of the time that
 * passes meanwhile is waiting for a CPU.
 */
static inline uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
