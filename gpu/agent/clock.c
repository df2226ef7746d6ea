/*
 * Ticks become nanoseconds by a line through the first calibration and the latest one. The line is
 * one of two structs, and readers follow a pointer to the valid one, so there is no lock; it
 * is changed once a second, long after the readers of the other one have gone.
 */
#include "gpu/agent/clock.h"

#include <time.h>

#include "gpu/agent/agent.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct line {
	uint64_t ticks, ns; /* a point of it */
	uint64_t factor;    /* ns per tick, 32 bits of fraction */
};

static struct line lines[2] = { { 0, 0, 1ull << 32 }, { 0, 0, 1ull << 32 } };
static struct line *line = &lines[0];
static struct gpu_clock first;
static int use_tsc;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
static int tsc_is_even(void)
{
	uint32_t a, b, c, d;

	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000000u), "c"(0));
	if (a < 0x80000007u)
		return 0;
	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000007u), "c"(0));
	return d >> 8 & 1; /* invariant: Intel SDM 18.17.1 */
}

uint64_t clock_ticks(void)
{
	return use_tsc ? __rdtsc() : read_clock(CLOCK_MONOTONIC);
}
#else
static int tsc_is_even(void)
{
	return 0;
}

uint64_t clock_ticks(void)
{
	return read_clock(CLOCK_MONOTONIC);
}
#endif

static uint64_t scale(uint64_t ticks, uint64_t factor)
{
	return (uint64_t)((unsigned __int128)ticks * factor >> 32);
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
	const struct line *l = __atomic_load_n(&line, __ATOMIC_ACQUIRE);

	if (ticks < l->ticks)
		return l->ns - scale(l->ticks - ticks, l->factor);
	return l->ns + scale(ticks - l->ticks, l->factor);
}

uint64_t clock_ticks_duration_ns(uint64_t ticks)
{
	return scale(ticks, __atomic_load_n(&line, __ATOMIC_ACQUIRE)->factor);
}

uint64_t clock_ns_to_ticks(uint64_t duration_ns)
{
	const struct line *l = __atomic_load_n(&line, __ATOMIC_ACQUIRE);

	return (uint64_t)(((unsigned __int128)duration_ns << 32) / l->factor);
}

/* The clocks together: the try of 16 in which the least time passed in between. */
static void take(struct gpu_clock *ret)
{
	ret->gap_ns = UINT64_MAX;
	for (int i = 0; i < 16; i++) {
		struct gpu_clock c = { .monotonic_ns = read_clock(CLOCK_MONOTONIC) };

		c.tsc = clock_ticks();
		c.realtime_ns = read_clock(CLOCK_REALTIME);
		c.gap_ns = read_clock(CLOCK_MONOTONIC) - c.monotonic_ns;
		c.monotonic_ns += c.gap_ns / 2;
		if (c.gap_ns < ret->gap_ns)
			*ret = c;
	}
}

static void publish(const struct gpu_clock *c)
{
	struct gpu_region *r = agent.region;
	uint32_t n;

	if (!r)
		return;
	n = r->nr_clocks;
	/* the first one stays */
	r->clocks[n < GPU_MAX_CLOCKS ? n : 1 + n % (GPU_MAX_CLOCKS - 1)] = *c;
	__atomic_store_n(&r->nr_clocks, n + 1, __ATOMIC_RELEASE);
}

void clock_calibrate(void)
{
	struct line *next = line == &lines[0] ? &lines[1] : &lines[0];
	struct gpu_clock now;

	take(&now);
	publish(&now);
	if (!use_tsc || now.tsc <= first.tsc || now.monotonic_ns <= first.monotonic_ns)
		return;
	next->factor =
		(uint64_t)(((unsigned __int128)(now.monotonic_ns - first.monotonic_ns) << 32) /
			   (now.tsc - first.tsc));
	next->ticks = now.tsc;
	next->ns = now.monotonic_ns;
	__atomic_store_n(&line, next, __ATOMIC_RELEASE);
}

void clock_calibrate_first(void)
{
	struct timespec pause = { 0, 2000000 };

	use_tsc = tsc_is_even();
	if (!use_tsc)
		return;
	take(&first);
	nanosleep(&pause, NULL);
	clock_calibrate();
}
