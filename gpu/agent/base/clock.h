/*
 * CLOCK_MONOTONIC at the price of a time stamp counter: hot paths take ticks and convert them to
 * nanoseconds only when a record is written.
 */
#ifndef SPROF_GPU_AGENT_CLOCK_H
#define SPROF_GPU_AGENT_CLOCK_H

#include <stdint.h>

/*
 * Ticks of the time stamp counter, or of CLOCK_MONOTONIC (ns) where the counter does not run
 * evenly.
 */
uint64_t clock_ticks(void);
/* CLOCK_MONOTONIC at that tick; exact within the last 30 seconds. */
uint64_t clock_ticks_to_ns(uint64_t ticks);
/* Durations. */
uint64_t clock_ns_to_ticks(uint64_t duration_ns);
uint64_t clock_ticks_duration_ns(uint64_t ticks);
uint64_t clock_now_ns(void); /* CLOCK_MONOTONIC */
uint64_t clock_realtime_ns(void);

/*
 * Needed once before ticks are converted (takes 2 ms), then every second. By one thread at a time.
 */
void clock_calibrate_first(void);
void clock_calibrate(void);

#endif
