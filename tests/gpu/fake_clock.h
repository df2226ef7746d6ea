/* The clock of the fake libcupti.so: CLOCK_REALTIME, or what a tool registers instead. */
#ifndef SPROF_TESTS_GPU_FAKE_CLOCK_H
#define SPROF_TESTS_GPU_FAKE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* True where FAKE_REALISTIC is set. */
bool fake_is_realistic(void);
/* The number in a variable of the environment, 0 = not set. */
long fake_number(const char *variable);

uint64_t fake_monotonic_ns(void);
/* CUPTI's time now. */
uint64_t fake_clock_now(void);
void fake_clock_register(uint64_t (*clock)(void));
/*
 * Puts two moments of CLOCK_MONOTONIC onto CUPTI's clock. `correlation`: of the record; after a
 * second registration odd ones stay on the clock before.
 */
void fake_clock_convert(uint64_t *start_ns, uint64_t *end_ns, uint32_t correlation);
/* The error of a time that was taken on the GPU and interpolated between clock readings. */
int64_t fake_clock_error_ns(uint64_t monotonic_ns);

#endif
