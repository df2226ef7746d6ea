/*
 * Makes the samples of live memory. Every recorded block is in the columns of allocated memory, so
 * what is live is a part of their samples, and has the sampling error of that part.
 */
#include "output/select/live_choice.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/live_blocks.h"
#include "core/profile/column.h"
#include "output/select/moment_of_profile.h"

static uint64_t time_of(const struct profile *p, const struct moment *m, uint64_t otherwise)
{
	return m->kind == MOMENT_NOT_SET ? otherwise : moment_of_samples(p, m);
}

/* The first moment at which most memory was in use. */
static uint64_t find_peak(const struct profile *p, const struct live_block *blocks, size_t nr,
			  enum memory_kind kind)
{
	const struct live_want want = { .kind = kind };
	size_t nr_points, most = 0;
	struct live_point *points = live_points_new(p, blocks, nr, &want, &nr_points);
	uint64_t time = p->meta.end_ns;

	for (size_t i = 1; i < nr_points; i++)
		if (points[i].bytes > points[most].bytes)
			most = i;
	if (nr_points)
		time = points[most].time_ns;
	free(points);
	return time;
}

/* `column`: of what was allocated. */
static bool is_live(const struct profile_live *live, const struct live_block *b, uint8_t column)
{
	uint64_t moment =
		live->kind == LIVE_AT_PEAK ? live->peak_ns[memory_kind_of(column)] : live->to_ns;

	if (live->kind == LIVE_AT_END)
		return b->end_ns == LIVE_BLOCK_HELD;
	if (live->kind == LIVE_LEAKS)
		return b->start_ns >= live->from_ns && b->start_ns < live->to_ns &&
		       b->end_ns == LIVE_BLOCK_HELD;
	return b->start_ns <= moment && b->end_ns > moment;
}

static void remove_live(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		if (!column_is_live(p->samples[i].column))
			p->samples[kept++] = p->samples[i];
	p->nr_samples = kept;
}

static int compare_samples(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	return ORDER(x->sample, y->sample);
}

/* Replaces the samples of live memory by the blocks that are live, in the order of allocation. */
static void add_live(struct profile *p, struct live_block *blocks, size_t nr)
{
	size_t nr_live = 0;
	struct profile_sample *live;

	qsort(blocks, nr, sizeof(*blocks), compare_samples);
	live = xcalloc(nr + 1, sizeof(*live));
	for (size_t i = 0; i < nr; i++) {
		struct profile_sample *s = &live[nr_live];

		*s = p->samples[blocks[i].sample];
		if (!is_live(&p->live, &blocks[i], s->column))
			continue;
		s->column += MEMORY_LIVE - MEMORY_ALLOCATED;
		nr_live++;
	}
	remove_live(p);
	for (size_t i = 0; i < nr_live; i++)
		profile_add_sample(p, &live[i]);
	free(live);
}

int live_apply(const struct live_choice *choice, struct profile *p, const char **ret_lacks)
{
	uint64_t start = p->meta.start_ns, end = p->meta.end_ns, third = (end - start) / 3;
	struct profile_live live = { .kind = choice->kind };
	struct live_block *blocks;
	size_t nr;

	if (!live_blocks_are_known(p) || end <= start) {
		*ret_lacks = "allocations and frees that sprof has sampled";
		return -ENODATA;
	}
	if (!moment_is_in(p, &choice->from) || !moment_is_in(p, &choice->to)) {
		*ret_lacks = "times of day";
		return -ENODATA;
	}
	live.from_ns = time_of(p, &choice->from, start + third);
	live.to_ns =
		choice->kind == LIVE_AT ? live.from_ns : time_of(p, &choice->to, start + 2 * third);
	if (live.from_ns > end || (choice->kind == LIVE_LEAKS && live.to_ns <= live.from_ns)) {
		*ret_lacks = choice->kind == LIVE_AT ? "moment as late as that"
						     : "time between these moments";
		return -ENODATA;
	}
	blocks = live_blocks_new(p, &nr);
	for (int kind = 0; kind < NR_MEMORY_KINDS && choice->kind == LIVE_AT_PEAK; kind++)
		live.peak_ns[kind] = find_peak(p, blocks, nr, (enum memory_kind)kind);
	p->live = live;
	add_live(p, blocks, nr);
	free(blocks);
	return 0;
}
