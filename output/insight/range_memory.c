/*
 * Sorts the changes of each process by time and keeps running sums; a tree of maxima over these
 * sums answers for any range of time in logarithmic time.
 */
#include "output/insight/range_memory.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/live_blocks.h"
#include "core/profile/profile.h"

struct change {
	uint64_t pid, time_ns;
	int64_t bytes;
};

struct range_memory {
	struct change *changes; /* by process and time; .bytes is the sum up to it */
	size_t nr;
	/* Node i of the tree has the children 2i and 2i + 1; the leaves begin at nr. */
	int64_t *most;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	/* allocations first, as live_blocks.c */
	return ORDER(x->pid, y->pid) ?: ORDER(x->time_ns, y->time_ns) ?: ORDER(y->bytes, x->bytes);
}

static void collect(struct range_memory *m, const struct profile *p)
{
	size_t nr;
	struct live_block *blocks = live_blocks_new(p, &nr);

	m->changes = xcalloc(2 * nr + 1, sizeof(*m->changes));
	for (size_t i = 0; i < nr; i++) {
		const struct profile_sample *s = &p->samples[blocks[i].sample];
		struct change c = { 0, blocks[i].start_ns, (int64_t)(s->weight & INT64_MAX) };

		if (s->column != COLUMN_GPU_ALLOCATED || s->thread >= p->nr_threads)
			continue;
		c.pid = p->threads[s->thread].pid;
		m->changes[m->nr++] = c;
		if (blocks[i].end_ns == LIVE_BLOCK_HELD)
			continue;
		c.time_ns = blocks[i].end_ns;
		c.bytes = -c.bytes;
		m->changes[m->nr++] = c;
	}
	free(blocks);
	qsort(m->changes, m->nr, sizeof(*m->changes), compare_changes);
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct range_memory *range_memory_new(const struct profile *p)
{
	struct range_memory *m;
	uint64_t sum = 0;

	if (!p->has_tensors || !live_blocks_are_known(p))
		return NULL;
	m = xcalloc(1, sizeof(*m));
	collect(m, p);
	if (!m->nr) {
		range_memory_free(m);
		return NULL;
	}
	m->most = xcalloc(2 * m->nr, sizeof(*m->most));
	for (size_t i = 0; i < m->nr; i++) {
		sum += (uint64_t)m->changes[i].bytes;
		m->changes[i].bytes = m->most[m->nr + i] = (int64_t)sum;
	}
	for (size_t i = m->nr - 1; i > 0; i--)
		m->most[i] = greater(m->most[2 * i], m->most[2 * i + 1]);
	return m;
}

void range_memory_free(struct range_memory *m)
{
	if (!m)
		return;
	free(m->changes);
	free(m->most);
	free(m);
}

/* The index of the process's first change after that time. */
static size_t changes_until(const struct range_memory *m, uint64_t pid, uint64_t time_ns)
{
	size_t from = 0, to = m->nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct change *c = &m->changes[middle];

		if (c->pid < pid || (c->pid == pid && c->time_ns <= time_ns))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The greatest running sum at changes [from, to), but at least `least`. */
static int64_t most_of(const struct range_memory *m, size_t from, size_t to, int64_t least)
{
	for (from += m->nr, to += m->nr; from < to; from /= 2, to /= 2) {
		if (from % 2)
			least = greater(least, m->most[from++]);
		if (to % 2)
			least = greater(least, m->most[--to]);
	}
	return least;
}

void range_memory_of(const struct range_memory *m, uint64_t pid, uint64_t from_ns, uint64_t to_ns,
		     int64_t *ret_net, uint64_t *ret_peak)
{
	size_t from = changes_until(m, pid, from_ns), to = changes_until(m, pid, to_ns);
	uint64_t before = from ? (uint64_t)m->changes[from - 1].bytes : 0;
	uint64_t after = to ? (uint64_t)m->changes[to - 1].bytes : 0;

	*ret_net = to > from ? (int64_t)(after - before) : 0;
	*ret_peak = 0;
	if (to > from)
		*ret_peak = (uint64_t)most_of(m, from, to, (int64_t)before) - before;
}
