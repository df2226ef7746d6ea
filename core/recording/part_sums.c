/*
 * The rows of the recording lie in the facts of a profile of their own, with ids of the decoder's.
 * Sums of hostile numbers end at the greatest.
 */
#include "core/recording/part_sums.h"

#include <string.h>

#include "core/profile/profile.h"
#include "core/recording/decode.h"

#define MAX_ROWS (1u << 21) /* of a kind, of all recordings */

static const enum fact_kind kinds[] = { FACT_LOCK_WAIT, FACT_THREAD_TIME, FACT_SYSTEM_CALL,
					FACT_CALL_TIMES };

bool part_sums_take(enum fact_kind kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

bool part_sums_put(struct decoder *d, enum fact_kind kind, const uint64_t *row)
{
	if (!d->part_sums)
		d->part_sums = profile_new();
	return facts_put(d->part_sums, kind, row);
}

static void take_larger(uint64_t *to, uint64_t other)
{
	if (*to < other)
		*to = other;
}

static void join_locks(struct fact_lock_wait *to, const struct fact_lock_wait *more)
{
	add_clamped(&to->waits, more->waits);
	add_clamped(&to->samples, more->samples);
	add_clamped(&to->waiting_ns, more->waiting_ns);
	add_clamped(&to->variance_us2, more->variance_us2);
	take_larger(&to->longest_ns, more->longest_ns);
	if (!to->place)
		to->place = more->place;
}

/*
 * Rows of one thread are pieces of its time, each of another segment. Two that begin at one moment
 * are the same piece told again: the longer holds.
 */
static void join_times(struct fact_thread_time *to, const struct fact_thread_time *more)
{
	if (to->thread == PROFILE_NONE) {
		add_clamped(&to->threads, more->threads);
	} else if (to->from_ns == more->from_ns) {
		if (to->wall_ns < more->wall_ns)
			*to = *more;
		return;
	}
	if (to->from_ns > more->from_ns)
		to->from_ns = more->from_ns;
	add_clamped(&to->wall_ns, more->wall_ns);
	add_clamped(&to->cpu_ns, more->cpu_ns);
	add_clamped(&to->runnable_ns, more->runnable_ns);
	add_clamped(&to->waiting_ns, more->waiting_ns);
	add_clamped(&to->waits, more->waits);
}

union any_row {
	struct fact_lock_wait lock;
	struct fact_thread_time time;
	struct fact_system_call call;
	struct fact_call_times call_times;
};

static void add_row(struct profile *p, enum fact_kind kind, const uint64_t *row)
{
	const uint64_t *before = facts_find(p, kind, row);
	size_t size = fact_info(kind)->nr_fields * sizeof(*row), nr;
	union any_row sum;

	facts_rows(p, kind, &nr);
	if (!before && nr >= MAX_ROWS) {
		p->nr_facts_left_out++;
		return;
	}
	memcpy(&sum, before ? before : row, size);
	if (before && kind == FACT_LOCK_WAIT)
		join_locks(&sum.lock, (const struct fact_lock_wait *)row);
	else if (before && kind == FACT_THREAD_TIME)
		join_times(&sum.time, (const struct fact_thread_time *)row);
	else if (before)
		facts_add_calls(kind, &sum, row);
	facts_put(p, kind, &sum);
}

/* Is it in the wanted time, wholly or partly? Counts it if so. */
static bool is_wanted(struct decoder *d)
{
	struct profile *p = d->p;
	uint64_t start = p->meta.start_ns + d->zero_realtime_ns;
	uint64_t end = (p->meta.end_ns > p->meta.start_ns ? p->meta.end_ns : p->meta.start_ns) +
		       d->zero_realtime_ns;

	if (start >= d->part.to_realtime_ns ||
	    (end <= d->part.from_realtime_ns && start < d->part.from_realtime_ns))
		return false;
	p->sums.nr++;
	p->sums.nr_partly += start < d->part.from_realtime_ns || end > d->part.to_realtime_ns;
	return true;
}

void part_sums_add(struct decoder *d)
{
	if (!d->part_sums || !is_wanted(d))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint32_t nr_fields = fact_info(kinds[i])->nr_fields;
		const uint64_t *rows;
		size_t nr;

		rows = facts_rows(d->part_sums, kinds[i], &nr);
		for (size_t k = 0; k < nr; k++)
			add_row(d->p, kinds[i], rows + k * nr_fields);
	}
}
