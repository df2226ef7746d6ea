/*
 * A joined stack reads from the root: the waiter's frames, the reason, what it waited for, who woke
 * it, and then the waker's frames from the leaf to the root, as in a chain graph. What the waker
 * itself had waited for follows, in the same form, without the frames that the waker's two stacks
 * share at the root.
 */
#include "sampler/waiting/wait_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "sampler/sink/sample_sink.h"

#define MAX_FRAMES (4u << 20) /* of all stacks together: 16 MiB */
/* Further ones have no top: each takes room in the recording. */
#define MAX_JOINED (1u << 18)
#define TOWER_FRAMES (2 * SINK_MAX_FRAMES + 2) /* of a joined stack */

/*
 * The last waits of a thread. A waker may have waited again before the thread that it woke gets a
 * CPU and its wait is sampled, so there are two.
 */
#define LAST_WAITS 2
struct thread_waits {
	uint32_t tid, newest;
	struct wait_chain waits[LAST_WAITS];
};

/*
 * Threads are found in a cache, by the lowest bits of their number. There are no more than 2000
 * samples of waits in a second, so a thread stays for some seconds at least.
 */
#define THREAD_SETS 4096
#define THREAD_WAYS 4

struct kept_stack {
	uint64_t key;
	struct wait_stack stack;
	UT_hash_handle hh;
	uint32_t frames[];
};

struct wait_stacks {
	struct kept_stack *kept;
	size_t nr_frames, nr_joined;
	struct stack_ids *joined;
	struct thread_waits *threads; /* NULL: no wait has ended yet */
};

struct wait_stacks *wait_stacks_new(void)
{
	struct wait_stacks *s = xcalloc(1, sizeof(*s));

	s->joined = stack_ids_new();
	return s;
}

static void forget_all(struct wait_stacks *s)
{
	struct kept_stack *k, *next;

	HASH_ITER (hh, s->kept, k, next) {
		HASH_DEL(s->kept, k);
		free(k);
	}
	s->nr_frames = 0;
}

static void forget_threads(struct wait_stacks *s)
{
	free(s->threads);
	s->threads = NULL;
}

void wait_stacks_free(struct wait_stacks *s)
{
	if (!s)
		return;
	forget_all(s);
	forget_threads(s);
	stack_ids_free(s->joined);
	free(s);
}

void wait_stacks_turn(struct wait_stacks *s, bool forget)
{
	s->nr_joined = 0;
	if (!forget)
		return;
	forget_all(s);
	forget_threads(s);
	stack_ids_clear(s->joined);
}

bool wait_stacks_add(struct wait_stacks *s, uint64_t key, const struct wait_stack *stack)
{
	bool had_room = s->nr_frames + stack->nr <= MAX_FRAMES;
	struct kept_stack *k;

	HASH_FIND(hh, s->kept, &key, sizeof(key), k);
	if (k)
		return true;
	if (!had_room)
		forget_all(s);
	k = xcalloc(1, sizeof(*k) + stack->nr * sizeof(*k->frames));
	k->key = key;
	k->stack = *stack;
	memcpy(k->frames, stack->frames, stack->nr * sizeof(*k->frames));
	k->stack.frames = k->frames;
	s->nr_frames += stack->nr;
	HASH_ADD(hh, s->kept, key, sizeof(k->key), k);
	return had_room;
}

const struct wait_stack *wait_stacks_find(const struct wait_stacks *s, uint64_t key)
{
	struct kept_stack *k;

	HASH_FIND(hh, s->kept, &key, sizeof(key), k);
	return k ? &k->stack : NULL;
}

struct tower {
	uint32_t frames[TOWER_FRAMES];
	size_t nr;
};

static void add_frames(struct tower *t, const uint32_t *frames, size_t nr)
{
	memcpy(t->frames + t->nr, frames, nr * sizeof(*frames));
	t->nr += nr;
}

static void add_frame(struct tower *t, uint32_t frame)
{
	if (frame != PROFILE_NONE)
		t->frames[t->nr++] = frame;
}

/* Adds what a wait was for and what ended it. `waker`: its stack, or NULL. */
static void add_end(struct tower *t, const struct wait_link *link, const struct wait_stack *waker)
{
	add_frame(t, link->object);
	add_frame(t, link->waker);
	for (size_t i = waker && link->waker != PROFILE_NONE ? waker->nr : 0; i-- > 0;)
		t->frames[t->nr++] = waker->frames[i];
}

/* How many frames two stacks share at the root; the reason of a wait is never one of them. */
static size_t shared_frames(const struct wait_stack *waker, const struct wait_stack *wait)
{
	size_t nr = 0;

	while (nr < waker->nr && nr + 1 < wait->nr && waker->frames[nr] == wait->frames[nr])
		nr++;
	return nr;
}

/*
 * Adds the first `nr` links of a chain, as far as there is room. `waker` is the stack of the first
 * one's thread as it ended the wait that was added last.
 */
static void add_chain(struct tower *t, const struct wait_stacks *s, struct sample_sink *out,
		      const struct wait_chain *chain, size_t nr, const struct wait_stack *waker)
{
	for (size_t i = 0; i < nr && waker; i++) {
		const struct wait_link *link = &chain->links[i];
		const struct wait_stack *wait = wait_stacks_find(s, link->key);
		const struct wait_stack *next = wait_stacks_find(s, link->waker_key);
		size_t shared = shared_frames(waker, wait);

		if (t->nr + 3 + wait->nr - shared + (next ? next->nr : 0) > TOWER_FRAMES)
			return;
		add_frame(t, sample_sink_wait_frame(out, WAITED_BEFORE));
		add_frames(t, wait->frames + shared, wait->nr - shared);
		add_end(t, link, next);
		waker = next;
	}
}

/* How many links of the chain have all of their stacks. */
static size_t nr_whole_links(const struct wait_stacks *s, const struct wait_chain *chain)
{
	size_t nr = 0;

	while (chain && nr < chain->nr && wait_stacks_find(s, chain->links[nr].key) &&
	       (!chain->links[nr].waker_key || wait_stacks_find(s, chain->links[nr].waker_key)))
		nr++;
	return nr;
}

static uint64_t key_of(uint64_t key, const struct wait_top *top, size_t nr_links)
{
	uint64_t waker_key = top->stack ? top->waker_key : 0;
	uint64_t hash = XXH64(&waker_key, sizeof(waker_key), key);

	if (top->object)
		hash = XXH64(top->object, strlen(top->object), hash);
	if (top->waker)
		hash = XXH64(top->waker, strlen(top->waker), hash);
	if (nr_links)
		hash = XXH64(top->before->links, nr_links * sizeof(*top->before->links), hash);
	return hash | 1;
}

static struct wait_link link_of(struct sample_sink *out, uint64_t key, const struct wait_top *top)
{
	struct wait_link link = { key, top->stack ? top->waker_key : 0, PROFILE_NONE,
				  PROFILE_NONE };
	char name[64];

	if (top->object)
		link.object = sample_sink_wait_frame(out, top->object);
	if (top->waker) {
		snprintf(name, sizeof(name), WOKEN_BY "%s", top->waker);
		link.waker = sample_sink_wait_frame(out, name);
	}
	return link;
}

struct known_stack wait_stacks_join(struct wait_stacks *s, struct sample_sink *out, uint64_t key,
				    const struct wait_stack *wait, const struct wait_top *top,
				    struct wait_link *ret_link)
{
	struct known_stack known = { .incomplete = wait->incomplete };
	size_t nr_links = nr_whole_links(s, top->before);
	uint64_t joined = key ? key_of(key, top, nr_links) : 0;
	struct tower t = { .nr = 0 };
	bool is_known = joined && stack_ids_find(s->joined, joined, &known);

	*ret_link = (struct wait_link){ 0 };
	if (is_known || s->nr_joined < MAX_JOINED)
		*ret_link = link_of(out, key, top);
	if (is_known)
		return known;
	add_frames(&t, wait->frames, wait->nr);
	if (s->nr_joined < MAX_JOINED) {
		add_end(&t, ret_link, top->stack);
		add_chain(&t, s, out, top->before, nr_links, top->stack);
	}
	known.stack = out->sink->stack(out->sink, t.frames, t.nr);
	s->nr_joined += t.nr > wait->nr;
	if (joined)
		stack_ids_add(s->joined, joined, known);
	return known;
}

static struct thread_waits *set_of(const struct wait_stacks *s, uint32_t tid)
{
	return &s->threads[(size_t)(tid & (THREAD_SETS - 1)) * THREAD_WAYS];
}

static uint64_t newest_ns(const struct thread_waits *t)
{
	return t->waits[t->newest].woken_ns;
}

/* The thread's place, which may be the one of the thread of its set that has not waited longest. */
static struct thread_waits *place_of(struct wait_stacks *s, uint32_t tid)
{
	struct thread_waits *set = set_of(s, tid), *oldest = set;

	for (size_t i = 0; i < THREAD_WAYS; i++) {
		if (set[i].tid == tid)
			return &set[i];
		if (newest_ns(&set[i]) < newest_ns(oldest))
			oldest = &set[i];
	}
	*oldest = (struct thread_waits){ .tid = tid };
	return oldest;
}

void wait_stacks_ended(struct wait_stacks *s, uint32_t tid, uint64_t woken_ns,
		       const struct wait_link *link, const struct wait_chain *before)
{
	struct wait_chain chain = { .woken_ns = woken_ns, .nr = 1, .links = { *link } };
	struct thread_waits *t;

	if (!tid || !woken_ns || !link->key)
		return;
	for (size_t i = 0; before && i < before->nr && chain.nr < MAX_WAIT_LINKS; i++)
		chain.links[chain.nr++] = before->links[i];
	if (!s->threads)
		s->threads = xcalloc((size_t)THREAD_SETS * THREAD_WAYS, sizeof(*s->threads));
	t = place_of(s, tid);
	t->newest = (t->newest + 1) % LAST_WAITS;
	t->waits[t->newest] = chain;
}

const struct wait_chain *wait_stacks_last(const struct wait_stacks *s, uint32_t tid,
					  uint64_t from_ns, uint64_t to_ns)
{
	const struct thread_waits *set = s->threads ? set_of(s, tid) : NULL;

	for (size_t i = 0; set && i < THREAD_WAYS; i++) {
		if (set[i].tid != tid)
			continue;
		for (size_t k = 0; k < LAST_WAITS; k++) {
			const struct wait_chain *c =
				&set[i].waits[(set[i].newest + LAST_WAITS - k) % LAST_WAITS];

			if (c->woken_ns > from_ns && c->woken_ns < to_ns)
				return c;
		}
	}
	return NULL;
}
