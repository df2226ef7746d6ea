/*
 * Blocks are sorted by thread, stack and time, and each lifetime looks its blocks up there. Blocks
 * that agree in all three, which only a hostile target can make, count as one.
 */
#include "core/profile/live_blocks.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/profile.h"

bool live_blocks_are_known(const struct profile *p)
{
	size_t nr_allocated = 0, nr_live = 0, nr_freed = 0;

	if (!p->samples_memory && !p->has_tensors)
		return false;
	for (size_t i = 0; i < p->nr_samples; i++) {
		nr_allocated += column_is_allocated(p->samples[i].column);
		nr_live += column_is_live(p->samples[i].column);
		nr_freed += p->samples[i].column == COLUMN_LIFETIME;
	}
	return nr_allocated && (nr_freed || !nr_live || nr_live >= nr_allocated);
}

struct key {
	uint32_t thread, stack;
	uint64_t time_ns;
};

static struct key key_of(const struct profile *p, const struct live_block *block)
{
	const struct profile_sample *s = &p->samples[block->sample];

	return (struct key){ s->thread, s->stack, block->start_ns };
}

static int compare_keys(const struct key *a, const struct key *b)
{
	return ORDER(a->thread, b->thread) ?: ORDER(a->stack, b->stack)
	       ?: ORDER(a->time_ns, b->time_ns);
}

static int compare_blocks(const void *a, const void *b, void *profile)
{
	struct key x = key_of(profile, a), y = key_of(profile, b);

	return compare_keys(&x, &y);
}

/* Returns the index of the first block with that key, or `nr`. */
static size_t find(const struct profile *p, const struct live_block *blocks, size_t nr,
		   const struct key *key)
{
	size_t from = 0, to = nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		struct key at = key_of(p, &blocks[middle]);

		if (compare_keys(&at, key) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void end_blocks(const struct profile *p, struct live_block *blocks, size_t nr,
		       const struct profile_sample *end)
{
	const struct key key = { end->thread, end->stack, end->time_ns - end->weight };
	size_t i = end->weight <= end->time_ns ? find(p, blocks, nr, &key) : nr;

	for (; i < nr && blocks[i].end_ns == LIVE_BLOCK_HELD; i++) {
		struct key at = key_of(p, &blocks[i]);

		if (compare_keys(&at, &key))
			break;
		blocks[i].end_ns = end->time_ns;
	}
}

struct live_block *live_blocks_new(const struct profile *p, size_t *ret_nr)
{
	struct live_block *blocks = xcalloc(p->nr_samples + 1, sizeof(*blocks));
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (column_is_allocated(s->column))
			blocks[nr++] =
				(struct live_block){ (uint32_t)i, s->time_ns, LIVE_BLOCK_HELD };
	}
	qsort_r(blocks, nr, sizeof(*blocks), compare_blocks, (void *)p);
	for (size_t i = 0; i < p->nr_samples; i++)
		if (p->samples[i].column == COLUMN_LIFETIME)
			end_blocks(p, blocks, nr, &p->samples[i]);
	*ret_nr = nr;
	return blocks;
}

struct change {
	uint64_t time_ns, bytes;
	bool freed;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return ORDER(x->time_ns, y->time_ns) ?: (int)x->freed - (int)y->freed;
}

static struct change *changes_of(const struct profile *p, const struct live_block *blocks,
				 size_t nr, const struct live_want *want, size_t *ret_nr)
{
	enum profile_column column = memory_column(want->kind, MEMORY_ALLOCATED);
	struct change *changes = xcalloc(2 * nr + 1, sizeof(*changes));
	size_t nr_changes = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct profile_sample *s = &p->samples[blocks[i].sample];

		if (s->column != column || (want->pid && (s->thread >= p->nr_threads ||
							  p->threads[s->thread].pid != want->pid)))
			continue;
		changes[nr_changes++] = (struct change){ blocks[i].start_ns, s->weight, false };
		if (blocks[i].end_ns != LIVE_BLOCK_HELD)
			changes[nr_changes++] =
				(struct change){ blocks[i].end_ns, s->weight, true };
	}
	qsort(changes, nr_changes, sizeof(*changes), compare_changes);
	*ret_nr = nr_changes;
	return changes;
}

struct live_point *live_points_new(const struct profile *p, const struct live_block *blocks,
				   size_t nr, const struct live_want *want, size_t *ret_nr)
{
	size_t nr_changes, nr_points = 0;
	struct change *changes = changes_of(p, blocks, nr, want, &nr_changes);
	struct live_point *points = xcalloc(nr_changes + 1, sizeof(*points));
	uint64_t bytes = 0;

	for (size_t i = 0; i < nr_changes; i++) {
		/* A block is freed after its allocation, so the sum stays above 0. */
		bytes = changes[i].freed ? bytes - changes[i].bytes : bytes + changes[i].bytes;
		if (nr_points && points[nr_points - 1].time_ns == changes[i].time_ns)
			nr_points--;
		points[nr_points++] = (struct live_point){ changes[i].time_ns, bytes };
	}
	free(changes);
	*ret_nr = nr_points;
	return points;
}
