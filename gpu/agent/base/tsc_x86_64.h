/*
 * The time stamp counter of x86-64: a clock that is read in a few nanoseconds. For clock.c alone.
 */
#ifndef SPROF_GPU_AGENT_TSC_X86_64_H
#define SPROF_GPU_AGENT_TSC_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

/*
 * True where it runs at one rate in every power state, on every core ("invariant", Intel SDM
 * 18.17.1).
 */
static inline bool tsc_is_even(void)
{
	uint32_t a, b, c, d;

	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000000u), "c"(0));
	if (a < 0x80000007u)
		return false;
	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000007u), "c"(0));
	return d >> 8 & 1;
}

static inline uint64_t tsc_read(void)
{
	return __rdtsc();
}

#endif
