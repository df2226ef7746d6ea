/*
 * CUPTI's time becomes CLOCK_MONOTONIC. No clock is ever registered with CUPTI: each registration
 * leaves some records on the clock before, and another tool may have registered its own.
 */
#ifndef SPROF_GPU_AGENT_CUPTI_CLOCK_H
#define SPROF_GPU_AGENT_CUPTI_CLOCK_H

#include <stdint.h>

/* Both need the lock (base/lock.h). */

/* Forgets earlier readings: another tool may have changed the clock meanwhile. May take 2 ms. */
void cupti_clock_begin(void);
/* Reads both clocks, at most once a second: to be called often, from time to time. */
void cupti_clock_read(void);

/*
 * Converts the times of one record, from any thread; 0 stays 0. Where CUPTI's clock counts
 * nanoseconds, the duration stays as CUPTI measured it.
 */
void cupti_clock_convert(uint64_t *start_ns, uint64_t *end_ns);

#endif
