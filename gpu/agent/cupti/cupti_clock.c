/*
 * Readings of both clocks at the same moment are the points of a line of straight pieces. They are
 * a ring, and older readings than half of it are not used, so readers need no lock.
 */
#include "gpu/agent/cupti/cupti_clock.h"

#include <stdbool.h>
#include <time.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/cupti/cupti.h"

#define NR_READINGS 512u
#define APART_NS 1000000000ull
#define TRIES 8

/* Atomic. */
struct reading {
	uint64_t cupti, monotonic_ns;
};

static struct reading readings[NR_READINGS];
static uint32_t nr_readings; /* ever made; atomic */
static uint32_t begun_at;    /* the first one that counts; atomic */

static uint64_t cupti_now(void)
{
	uint64_t now;

	if (cupti.get_timestamp && !cupti.get_timestamp(&now))
		return now;
	return clock_realtime_ns(); /* CUPTI's default */
}

/* Of a few tries the quickest: the thread may lose its CPU. */
static struct reading read_clocks(void)
{
	struct reading best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_now_ns(), now = cupti_now();
		uint64_t took = clock_now_ns() - before;

		if (took >= least)
			continue;
		least = took;
		best = (struct reading){ now, before + took / 2 };
	}
	return best;
}

static void add(const struct reading *r)
{
	uint32_t nr = __atomic_load_n(&nr_readings, __ATOMIC_RELAXED);
	struct reading *to = &readings[nr % NR_READINGS];

	__atomic_store_n(&to->cupti, r->cupti, __ATOMIC_RELAXED);
	__atomic_store_n(&to->monotonic_ns, r->monotonic_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&nr_readings, nr + 1, __ATOMIC_RELEASE);
}

static struct reading reading_of(uint32_t number)
{
	const struct reading *r = &readings[number % NR_READINGS];

	return (struct reading){
		.cupti = __atomic_load_n(&r->cupti, __ATOMIC_RELAXED),
		.monotonic_ns = __atomic_load_n(&r->monotonic_ns, __ATOMIC_RELAXED),
	};
}

void cupti_clock_begin(void)
{
	const struct timespec pause = { 0, 2000000 };
	struct reading first = read_clocks();

	__atomic_store_n(&begun_at, __atomic_load_n(&nr_readings, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	add(&first);
	/* the clock of another tool may count anything: its rate must be known from the start */
	nanosleep(&pause, NULL);
	first = read_clocks();
	add(&first);
}

void cupti_clock_read(void)
{
	struct reading last = reading_of(__atomic_load_n(&nr_readings, __ATOMIC_RELAXED) - 1);
	struct reading now;

	if (clock_now_ns() - last.monotonic_ns < APART_NS)
		return;
	now = read_clocks();
	add(&now);
}

/* A piece of the line: it goes through both points. */
struct piece {
	struct reading from, to;
};

/* The piece around a time of CUPTI's; for earlier and later times the first and the last one. */
static bool piece_at(uint64_t cupti_time, struct piece *ret)
{
	uint32_t nr = __atomic_load_n(&nr_readings, __ATOMIC_ACQUIRE);
	uint32_t oldest = __atomic_load_n(&begun_at, __ATOMIC_RELAXED);

	if (nr > oldest + NR_READINGS / 2)
		oldest = nr - NR_READINGS / 2;
	if (nr < oldest + 2)
		return false;
	ret->to = reading_of(nr - 1);
	ret->from = reading_of(nr - 2);
	for (nr -= 2; nr > oldest && cupti_time < ret->from.cupti; nr--) {
		ret->to = ret->from;
		ret->from = reading_of(nr - 1);
	}
	return ret->to.cupti > ret->from.cupti;
}

/* Does the clock count nanoseconds, up to 1 in 1000? Readings 2 ms apart are no more exact. */
static bool counts_ns(const struct piece *p)
{
	uint64_t ticks = p->to.cupti - p->from.cupti;
	uint64_t ns = p->to.monotonic_ns - p->from.monotonic_ns;

	return ticks - ns + ns / 1000 <= ns / 500;
}

static uint64_t scale(const struct piece *p, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * (p->to.monotonic_ns - p->from.monotonic_ns) /
			  (p->to.cupti - p->from.cupti));
}

static uint64_t convert(const struct piece *p, uint64_t time)
{
	bool outside = time < p->from.cupti || time > p->to.cupti;
	const struct reading *near = time > p->to.cupti ? &p->to : &p->from;

	/* the error of the rate would grow with the distance */
	if (outside && counts_ns(p))
		return near->monotonic_ns + (time - near->cupti);
	if (time < near->cupti)
		return near->monotonic_ns - scale(p, near->cupti - time);
	return near->monotonic_ns + scale(p, time - near->cupti);
}

void cupti_clock_convert(uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t start = *start_ns, end = *end_ns;
	struct piece p;

	if (!piece_at(start ? start : end, &p))
		return;
	if (start)
		*start_ns = convert(&p, start);
	if (end && start && end >= start)
		*end_ns = *start_ns + (counts_ns(&p) ? end - start : scale(&p, end - start));
	else if (end)
		*end_ns = convert(&p, end);
}
