/*
 * Ticks become nanoseconds along a line of straight pieces. Each calibration adds a knot a
 * millisecond ahead of now: the line continues from where it is, with a slope that corrects the
 * error within a second. So a tick has one time, whoever asks and whenever, and a thread's calls
 * never overlap. The knots are a ring; one is overwritten a minute after it was made, so readers
 * need no lock.
 */
#include "gpu/agent/base/clock.h"

#include <stdbool.h>
#include <time.h>

#if defined(__x86_64__)
#include "gpu/agent/base/tsc_x86_64.h"
#else
static inline bool tsc_is_even(void)
{
	return false; /* clock_ticks() is CLOCK_MONOTONIC then */
}

static inline uint64_t tsc_read(void)
{
	return 0;
}
#endif

#define NR_KNOTS 64u
#define NEXT_NS 1000000000	/* the error is corrected over this time */
#define AHEAD_NS 1000000	/* how far ahead of now a knot is made */
#define MAX_ERROR_NS 1000000	/* beyond it the line jumps: the machine slept */
#define ONE_TO_ONE (1ull << 32) /* ns per tick, 32 bits of fraction */

/* Both clocks at one moment. gap_ns passed between the two reads of CLOCK_MONOTONIC around it. */
struct reading {
	uint64_t monotonic_ns, tsc, gap_ns;
};

/* The start of a piece of the line, and its slope; all atomic. */
struct knot {
	uint64_t ticks, ns, factor;
};

static struct knot knots[NR_KNOTS] = { { 0, 0, ONE_TO_ONE } };
static uint32_t nr_knots = 1; /* ever made; atomic */
static uint32_t begun_at;     /* the knot that clock_calibrate_first() made; atomic */
static struct reading first;
static int use_tsc; /* atomic; set once */

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

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_ticks(void)
{
	return __atomic_load_n(&use_tsc, __ATOMIC_RELAXED) ? tsc_read()
							   : read_clock(CLOCK_MONOTONIC);
}

static uint64_t scale(uint64_t ticks, uint64_t factor)
{
	return (uint64_t)((unsigned __int128)ticks * factor >> 32);
}

static struct knot read_knot(uint32_t number)
{
	const struct knot *k = &knots[number % NR_KNOTS];

	return (struct knot){
		.ticks = __atomic_load_n(&k->ticks, __ATOMIC_RELAXED),
		.ns = __atomic_load_n(&k->ns, __ATOMIC_RELAXED),
		.factor = __atomic_load_n(&k->factor, __ATOMIC_RELAXED),
	};
}

static void add_knot(const struct knot *knot)
{
	uint32_t number = __atomic_load_n(&nr_knots, __ATOMIC_RELAXED);
	struct knot *k = &knots[number % NR_KNOTS];

	__atomic_store_n(&k->ticks, knot->ticks, __ATOMIC_RELAXED);
	__atomic_store_n(&k->ns, knot->ns, __ATOMIC_RELAXED);
	__atomic_store_n(&k->factor, knot->factor, __ATOMIC_RELAXED);
	__atomic_store_n(&nr_knots, number + 1, __ATOMIC_RELEASE);
}

static struct knot last_knot(void)
{
	return read_knot(__atomic_load_n(&nr_knots, __ATOMIC_ACQUIRE) - 1);
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
	uint32_t nr = __atomic_load_n(&nr_knots, __ATOMIC_ACQUIRE);
	uint32_t oldest = __atomic_load_n(&begun_at, __ATOMIC_RELAXED);
	struct knot k = read_knot(--nr);

	if (nr > oldest + NR_KNOTS / 2) /* older knots may be overwritten */
		oldest = nr - NR_KNOTS / 2;
	while (ticks < k.ticks && nr > oldest)
		k = read_knot(--nr);
	if (ticks < k.ticks)
		return k.ns - scale(k.ticks - ticks, k.factor);
	return k.ns + scale(ticks - k.ticks, k.factor);
}

uint64_t clock_ticks_duration_ns(uint64_t ticks)
{
	return scale(ticks, last_knot().factor);
}

uint64_t clock_ns_to_ticks(uint64_t duration_ns)
{
	return (uint64_t)(((unsigned __int128)duration_ns << 32) / last_knot().factor);
}

/* Reads the clocks 16 times and keeps the reading that took least time. */
static void take(struct reading *ret)
{
	ret->gap_ns = UINT64_MAX;
	for (int i = 0; i < 16; i++) {
		struct reading c = { .monotonic_ns = read_clock(CLOCK_MONOTONIC) };

		c.tsc = clock_ticks();
		c.gap_ns = read_clock(CLOCK_MONOTONIC) - c.monotonic_ns;
		c.monotonic_ns += c.gap_ns / 2;
		if (c.gap_ns < ret->gap_ns)
			*ret = c;
	}
}

/* Adds a knot that continues the line (`smooth`), or one that starts it anew at the right time. */
static void calibrate(bool smooth)
{
	struct reading now;
	uint64_t steep, right_ns;
	int64_t behind_ns;
	struct knot next;

	take(&now);
	if (!use_tsc || now.tsc <= first.tsc || now.monotonic_ns <= first.monotonic_ns)
		return;
	steep = (uint64_t)(((unsigned __int128)(now.monotonic_ns - first.monotonic_ns) << 32) /
			   (now.tsc - first.tsc));
	/* ahead of now: no thread has converted a tick there before the knot exists */
	next.ticks = clock_ticks() + (smooth ? clock_ns_to_ticks(AHEAD_NS) : 0);
	next.ns = clock_ticks_to_ns(next.ticks);
	next.factor = steep;
	right_ns = now.monotonic_ns + scale(next.ticks - now.tsc, steep);
	behind_ns = (int64_t)(right_ns - next.ns);
	if (smooth && behind_ns > -MAX_ERROR_NS && behind_ns < MAX_ERROR_NS)
		next.factor = (uint64_t)((__int128)steep * (NEXT_NS + behind_ns) / NEXT_NS);
	else
		next.ns = right_ns;
	add_knot(&next);
}

void clock_calibrate(void)
{
	calibrate(true);
}

void clock_calibrate_first(void)
{
	struct timespec pause = { 0, 2000000 };

	__atomic_store_n(&use_tsc, tsc_is_even(), __ATOMIC_RELAXED);
	if (!use_tsc)
		return;
	take(&first);
	nanosleep(&pause, NULL);
	__atomic_store_n(&begun_at, __atomic_load_n(&nr_knots, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	calibrate(false);
}
