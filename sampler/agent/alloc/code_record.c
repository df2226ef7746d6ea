/* How the walk of an allocation sends a Python code object: before the draw that names it. */
#include "sampler/agent/alloc/slow_path.h"

/* This much of the ring is left free for draws: without them, code objects are worth nothing. */
#define KEPT_FREE (ALLOC_RING_WORDS / 16)

static int has_room(const struct ring *ring, __u32 nr_words)
{
	__u64 used = __atomic_load_n(&ring->head, __ATOMIC_RELAXED) -
		     __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

	return used + nr_words < ALLOC_RING_WORDS - KEPT_FREE;
}

int agent_begin_code(const struct agent_python *python, __u32 nr_words, struct agent_place *p)
{
	const struct alloc_draw head = { .type = ALLOC_CODE, .tid = python->tid };
	struct alloc_shared *s = alloc_shared_of(alloc_home());

	p->words = s->words;
	p->nr = 1 + sizeof(head) / 8 + nr_words;
	if (!has_room(&s->ring, p->nr) ||
	    ring_reserve(&s->ring, p->words, ALLOC_RING_WORDS, p->nr, &p->start))
		return -1;
	p->at = p->start + 1;
	agent_put_words(p, (const __u64 *)&head, sizeof(head) / 8);
	return 0;
}

void agent_put_words(struct agent_place *p, const __u64 *from, __u32 nr)
{
	for (__u32 i = 0; i < nr; i++)
		ring_put(p->words, ALLOC_RING_WORDS, p->at++, from[i]);
}

void agent_commit(const struct agent_place *p)
{
	ring_commit(p->words, ALLOC_RING_WORDS, p->start, p->nr);
}
