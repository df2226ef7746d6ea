/*
 * Pairs operations in one pass over both lanes, which are in order of time. Pairing by number alone
 * would be wrong from the first record on that one of them lacks.
 */
#include "output/ranks/lane_match.h"

#include <stdlib.h>

#include "core/base/order.h"
#include "core/profile/facts.h"
#include "output/ranks/ranks.h"

#define SAMPLE 256u	/* operations that a fit is judged by */
#define MAX_OFFSET 64	/* operations by which lanes may begin apart */
#define MIN_FOR_SHIFT 4 /* ends that a shift needs */

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* How far the ends of two operations are apart. */
static int64_t apart(const struct rank_op *a, const struct rank_op *b, int64_t shift_ns)
{
	return distance(a->end_ns, b->end_ns + shift_ns);
}

void lane_match(const struct rank_lane *a, const struct rank_lane *b, int64_t shift_ns,
		int64_t slack_ns, size_t max, uint32_t *partner)
{
	size_t i = 0, j = 0, nr_a = a->nr < max ? a->nr : max;

	for (size_t k = 0; k < nr_a; k++)
		partner[k] = UINT32_MAX;
	while (i < nr_a && j < b->nr) {
		const struct rank_op *x = &a->ops[i], *y = &b->ops[j];

		if (x->end_ns + slack_ns < y->start_ns + shift_ns)
			i++;
		else if (y->end_ns + shift_ns + slack_ns < x->start_ns)
			j++;
		else if (j + 1 < b->nr && apart(x, y + 1, shift_ns) < apart(x, y, shift_ns))
			j++;
		else if (i + 1 < nr_a && apart(x + 1, y, shift_ns) < apart(x, y, shift_ns))
			i++;
		else if (x->name == y->name)
			partner[i++] = (uint32_t)j++;
		else if (x->end_ns < y->end_ns + shift_ns)
			i++;
		else
			j++;
	}
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return ORDER(*x, *y);
}

void lane_sort_times(int64_t *times, size_t nr)
{
	qsort(times, nr, sizeof(*times), compare_times);
}

/* Sorts the values, and returns the one that `tenths` out of ten values do not exceed. */
static int64_t quantile(int64_t *values, size_t nr, size_t tenths)
{
	size_t at = nr * tenths / 10;

	lane_sort_times(values, nr);
	return values[at < nr ? at : nr - 1];
}

struct lane_fit lane_fit(const struct rank_lane *a, const struct rank_lane *b, int64_t shift_ns,
			 int64_t slack_ns)
{
	size_t nr = a->nr < b->nr ? a->nr : b->nr, nr_a = a->nr < SAMPLE ? a->nr : SAMPLE;
	struct lane_fit fit = { .nr_asked = nr < SAMPLE ? nr : SAMPLE };
	uint32_t partner[SAMPLE];
	int64_t ends[SAMPLE];

	lane_match(a, b, shift_ns, slack_ns, SAMPLE, partner);
	for (size_t i = 0; i < nr_a; i++)
		if (partner[i] != UINT32_MAX)
			ends[fit.nr++] = apart(&a->ops[i], &b->ops[partner[i]], shift_ns);
	if (fit.nr)
		fit.apart_ns = quantile(ends, fit.nr, a->way == COLLECTIVE_GPU ? 9 : 5);
	return fit;
}

/* The shift if operation i + offset of b is operation i of a. Returns the number of pairs. */
static size_t try_offset(const struct rank_lane *a, const struct rank_lane *b, long offset,
			 int64_t *ret_shift, int64_t *ret_spread)
{
	size_t from = offset < 0 ? (size_t)-offset : 0, nr = 0, nr_named = 0;
	int64_t ends[SAMPLE], shift;

	for (size_t i = from; i < a->nr && nr_named < SAMPLE; i++) {
		size_t j = (size_t)((long)i + offset);

		if (j >= b->nr)
			break;
		nr_named++;
		if (a->ops[i].name == b->ops[j].name)
			ends[nr++] = a->ops[i].end_ns - b->ops[j].end_ns;
	}
	if (nr < MIN_FOR_SHIFT || nr < nr_named)
		return 0;
	shift = quantile(ends, nr, 5);
	for (size_t i = 0; i < nr; i++)
		ends[i] = distance(ends[i], shift);
	*ret_shift = shift;
	*ret_spread = quantile(ends, nr, 5);
	return nr;
}

/* Better is less spread; where two fit alike, what is nearer to the guess. */
static bool is_better(int64_t shift, int64_t spread, int64_t best, int64_t best_spread,
		      int64_t guess_ns)
{
	if (spread < best_spread / 2 || best_spread < spread / 2)
		return spread < best_spread;
	return distance(shift, guess_ns) < distance(best, guess_ns);
}

size_t lane_shift(const struct rank_lane *a, const struct rank_lane *b, int64_t guess_ns,
		  int64_t *ret_shift, int64_t *ret_spread)
{
	const size_t shorter = a->nr < b->nr ? a->nr : b->nr;
	/* a few ends may fit by chance */
	const size_t least = (shorter < SAMPLE ? shorter : SAMPLE) / 2;
	int64_t best = 0, best_spread = INT64_MAX;
	size_t nr_best = 0;

	for (long offset = -MAX_OFFSET; offset <= MAX_OFFSET; offset++) {
		int64_t shift, spread;
		size_t nr = try_offset(a, b, offset, &shift, &spread);

		if (!nr || nr < least ||
		    (nr_best && !is_better(shift, spread, best, best_spread, guess_ns)))
			continue;
		best = shift;
		best_spread = spread;
		nr_best = nr;
	}
	if (!nr_best)
		return 0;
	*ret_shift = best;
	*ret_spread = best_spread;
	return nr_best;
}
