/*
 * A thread that was told of while it went on has an entry with the sums of its pieces. The present
 * piece becomes part of them at a turn, so a thread may be told of several times in a segment.
 *
 * At the end of a segment, what a thread does just then is not known for sure: one that is taken
 * for waiting may have been woken already. The next piece gets that much less, and none of its
 * times is ever negative.
 */
#include "sampler/sink/thread_pieces.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/profile/facts.h"

#define KEPT_TURNS 4 /* an entry of a thread of which nothing was heard: its end may come late */

struct times {
	uint64_t wall_ns, cpu_ns, runnable_ns, waiting_ns, waits;
};

struct thread {
	uint64_t start_ns;
	struct times before; /* all pieces of earlier segments */
	struct times so_far; /* and that of the present one */
	uint32_t tid;
	uint32_t heard; /* the turn */
};

struct thread_pieces {
	struct thread *threads;
	size_t nr, capacity;
	uint32_t max_threads, turn;
	struct number_map of; /* index in threads[] + 1, by tid */
};

struct thread_pieces *thread_pieces_new(uint32_t max_threads)
{
	struct thread_pieces *p = xcalloc(1, sizeof(*p));

	p->max_threads = max_threads;
	return p;
}

void thread_pieces_free(struct thread_pieces *p)
{
	if (!p)
		return;
	number_map_fini(&p->of);
	free(p->threads);
	free(p);
}

static struct thread *find(struct thread_pieces *p, uint32_t tid, uint64_t start_ns)
{
	const uint32_t *at = number_map_find(&p->of, tid);
	struct thread *t = at ? &p->threads[*at - 1] : NULL;

	return t && t->start_ns == start_ns ? t : NULL;
}

/* Takes the place of a thread that had the same number before. NULL: there is no room. */
static struct thread *add(struct thread_pieces *p, uint32_t tid, uint64_t start_ns)
{
	const uint32_t *before = number_map_find(&p->of, tid);
	uint32_t at = before ? *before : 0;
	bool is_new;

	if (!at) {
		if (p->nr >= p->max_threads)
			return NULL;
		p->threads = xgrow(p->threads, &p->capacity, p->nr + 1, sizeof(*p->threads));
		at = (uint32_t)++p->nr;
		*number_map_at(&p->of, tid, &is_new) = at;
	}
	p->threads[at - 1] = (struct thread){ .tid = tid, .start_ns = start_ns };
	return &p->threads[at - 1];
}

/* Makes none of the parts negative; their sum stays, and is not negative. */
static void balance(int64_t parts[3])
{
	for (int i = 0; i < 3; i++) {
		int most = 0;

		for (int k = 1; k < 3; k++)
			if (parts[k] > parts[most])
				most = k;
		if (parts[i] < 0) {
			parts[most] += parts[i];
			parts[i] = 0;
		}
	}
	for (int i = 0; i < 3; i++)
		if (parts[i] < 0)
			parts[i] = 0;
}

static void cut(const struct times *before, struct fact_thread_time *row)
{
	int64_t parts[3] = {
		(int64_t)(row->cpu_ns - before->cpu_ns),
		(int64_t)(row->runnable_ns - before->runnable_ns),
		(int64_t)(row->waiting_ns - before->waiting_ns),
	};

	balance(parts);
	row->cpu_ns = (uint64_t)parts[0];
	row->runnable_ns = (uint64_t)parts[1];
	row->waiting_ns = (uint64_t)parts[2];
	row->wall_ns = row->cpu_ns + row->runnable_ns + row->waiting_ns;
	row->waits = row->waits > before->waits ? row->waits - before->waits : 0;
	row->from_ns = row->start_ns + before->wall_ns;
}

static struct times sum_of(const struct times *a, const struct fact_thread_time *b)
{
	return (struct times){
		.wall_ns = a->wall_ns + b->wall_ns,
		.cpu_ns = a->cpu_ns + b->cpu_ns,
		.runnable_ns = a->runnable_ns + b->runnable_ns,
		.waiting_ns = a->waiting_ns + b->waiting_ns,
		.waits = a->waits + b->waits,
	};
}

bool thread_pieces_cut(struct thread_pieces *p, uint32_t tid, bool goes_on,
		       struct fact_thread_time *row)
{
	struct thread *t = find(p, tid, row->start_ns);

	if (!t && goes_on)
		t = add(p, tid, row->start_ns);
	if (!t)
		return !goes_on;
	if (t->before.wall_ns)
		cut(&t->before, row);
	t->so_far = sum_of(&t->before, row);
	t->heard = p->turn;
	return true;
}

void thread_pieces_turn(struct thread_pieces *p)
{
	size_t kept = 0;
	bool is_new;

	number_map_fini(&p->of);
	p->of = (struct number_map){ 0 };
	for (size_t i = 0; i < p->nr; i++) {
		struct thread t = p->threads[i];

		if (p->turn - t.heard > KEPT_TURNS)
			continue;
		t.before = t.so_far;
		p->threads[kept++] = t;
		*number_map_at(&p->of, t.tid, &is_new) = (uint32_t)kept;
	}
	p->nr = kept;
	p->turn++;
}
