/* CLOCK_MONOTONIC at the price of a time stamp counter. */
#ifndef SPROF_GPU_AGENT_CLOCK_H
#define SPROF_GPU_AGENT_CLOCK_H

#include <stdint.h>

/* Ticks of the cheapest clock that runs evenly: the TSC, or CLOCK_MONOTONIC where there is none. */
uint64_t clock_ticks(void);
/* Of a moment not long ago. */
uint64_t clock_ticks_to_ns(uint64_t ticks);
uint64_t clock_ns_to_ticks(uint64_t duration_ns);
uint64_t clock_ticks_duration_ns(uint64_t ticks);
uint64_t clock_now_ns(void);
uint64_t clock_realtime_ns(void); /* CLOCK_MONOTONIC */

/* Once before any of the above (it takes a millisecond), then each second, by one thread. */
void clock_calibrate_first(void);
void clock_calibrate(void);

#endif
