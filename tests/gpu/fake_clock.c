/*
 * Times are kept as CLOCK_MONOTONIC and converted when a buffer is delivered, as CUPTI converts GPU
 * times in post-processing.
 */
#include "tests/gpu/fake_clock.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

static uint64_t (*clock_fn)(void);  /* atomic; NULL = CLOCK_REALTIME */
static uint64_t (*before_fn)(void); /* atomic; the clock before the last registration */
static uint32_t nr_registered;	    /* atomic */

bool fake_is_realistic(void)
{
	static uint32_t known; /* atomic: 1 = no, 2 = yes */
	uint32_t is = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!is) {
		is = getenv("FAKE_REALISTIC") ? 2 : 1;
		__atomic_store_n(&known, is, __ATOMIC_RELAXED);
	}
	return is == 2;
}

long fake_number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? atol(text) : 0;
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t fake_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* The clock of a tool that was there first and never leaves: 2.5 ticks per ns, as Kineto's. */
static uint64_t rival_ticks(uint64_t monotonic_ns)
{
	return monotonic_ns * 5 / 2 + 1234567890123;
}

static bool has_rival(void)
{
	return getenv("FAKE_RIVAL") && !__atomic_load_n(&nr_registered, __ATOMIC_ACQUIRE);
}

static uint64_t read_with(uint64_t (*clock)(void))
{
	return clock ? clock() : read_clock(CLOCK_REALTIME);
}

uint64_t fake_clock_now(void)
{
	if (has_rival())
		return rival_ticks(fake_monotonic_ns());
	return read_with(__atomic_load_n(&clock_fn, __ATOMIC_ACQUIRE));
}

void fake_clock_register(uint64_t (*clock)(void))
{
	__atomic_store_n(&before_fn, __atomic_load_n(&clock_fn, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&clock_fn, clock, __ATOMIC_RELEASE);
	__atomic_fetch_add(&nr_registered, 1, __ATOMIC_RELEASE);
}

/* The quickest of a few tries: the thread may lose its CPU. */
static uint64_t ahead_of_monotonic(uint64_t (*clock)(void))
{
	uint64_t least = UINT64_MAX, ret = 0;

	for (int i = 0; i < 10 && least > 1000; i++) {
		uint64_t before = fake_monotonic_ns(), theirs = read_with(clock);
		uint64_t took = fake_monotonic_ns() - before;

		if (took < least)
			ret = theirs - before;
		least = took < least ? took : least;
	}
	return ret;
}

uint64_t fake_clock_convert(uint64_t monotonic_ns, uint32_t correlation)
{
	uint64_t (*clock)(void) = __atomic_load_n(&clock_fn, __ATOMIC_ACQUIRE);

	if (has_rival())
		return rival_ticks(monotonic_ns);
	if (fake_is_realistic() && correlation & 1 &&
	    __atomic_load_n(&nr_registered, __ATOMIC_ACQUIRE) > 1)
		clock = __atomic_load_n(&before_fn, __ATOMIC_ACQUIRE);
	return monotonic_ns + ahead_of_monotonic(clock);
}

int64_t fake_clock_error_ns(uint64_t monotonic_ns)
{
	const uint64_t period = 1u << 30;
	uint64_t in_period = monotonic_ns & (period - 1);
	uint64_t rising = in_period < period / 2 ? in_period : period - in_period;

	return (int64_t)(rising * 30000 / (period / 2)) - 15000;
}
