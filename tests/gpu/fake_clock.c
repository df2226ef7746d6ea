/*
 * Times are kept as CLOCK_MONOTONIC and converted when a buffer is delivered, as CUPTI converts GPU
 * times in post-processing.
 */
#include "tests/gpu/fake_clock.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

typedef uint64_t (*clock_fn)(void);

static clock_fn current, before; /* atomic; of the last registration, and of the one before it */
static pthread_once_t once = PTHREAD_ONCE_INIT;

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

static uint64_t rival_clock(void)
{
	return rival_ticks(fake_monotonic_ns());
}

static uint64_t realtime_clock(void)
{
	return read_clock(CLOCK_REALTIME);
}

static void set_first(void)
{
	long rival = fake_number("FAKE_RIVAL");

	__atomic_store_n(&current, rival ? rival_clock : realtime_clock, __ATOMIC_RELEASE);
	__atomic_store_n(&before, rival == 1 ? rival_clock : realtime_clock, __ATOMIC_RELEASE);
}

static clock_fn clock_of(uint32_t correlation)
{
	pthread_once(&once, set_first);
	return __atomic_load_n(correlation & 1 ? &before : &current, __ATOMIC_ACQUIRE);
}

uint64_t fake_clock_now(void)
{
	return clock_of(0)();
}

void fake_clock_register(clock_fn clock)
{
	static uint32_t registered; /* atomic */
	clock_fn was = clock_of(0);
	bool again = __atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL) || was == rival_clock;

	__atomic_store_n(&before, again && fake_is_realistic() ? was : clock, __ATOMIC_RELEASE);
	__atomic_store_n(&current, clock, __ATOMIC_RELEASE);
}

/* The quickest of a few tries: the thread may lose its CPU. */
static uint64_t ahead_of_monotonic(clock_fn clock)
{
	uint64_t least = UINT64_MAX, ret = 0;

	for (int i = 0; i < 10 && least > 1000; i++) {
		uint64_t begin = fake_monotonic_ns(), theirs = clock();
		uint64_t took = fake_monotonic_ns() - begin;

		if (took < least)
			ret = theirs - begin;
		least = took < least ? took : least;
	}
	return ret;
}

void fake_clock_convert(uint64_t *start_ns, uint64_t *end_ns, uint32_t correlation)
{
	clock_fn clock = clock_of(correlation);
	uint64_t ahead = clock == rival_clock ? 0 : ahead_of_monotonic(clock);

	*start_ns = clock == rival_clock ? rival_ticks(*start_ns) : *start_ns + ahead;
	*end_ns = clock == rival_clock ? rival_ticks(*end_ns) : *end_ns + ahead;
}

int64_t fake_clock_error_ns(uint64_t monotonic_ns)
{
	const uint64_t period = 1u << 30;
	uint64_t in_period = monotonic_ns & (period - 1);
	uint64_t rising = in_period < period / 2 ? in_period : period - in_period;

	return (int64_t)(rising * 30000 / (period / 2)) - 15000;
}
