/*
 * A joined stack reads from the root: the waiter's frames, the reason, what it waited for, who woke
 * it, and then the waker's frames from the leaf to the root, as in a chain graph.
 */
#include "sampler/waiting/wait_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "sampler/sink/sample_sink.h"

#define MAX_FRAMES (4u << 20) /* of all stacks together: 16 MiB */
/* Further ones have no top: each takes room in the recording. */
#define MAX_JOINED (1u << 18)

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

void wait_stacks_free(struct wait_stacks *s)
{
	if (!s)
		return;
	forget_all(s);
	stack_ids_free(s->joined);
	free(s);
}

void wait_stacks_turn(struct wait_stacks *s, bool forget)
{
	s->nr_joined = 0;
	if (!forget)
		return;
	forget_all(s);
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

/* Both are at most SINK_MAX_FRAMES - 1 long. */
static size_t write_frames(struct sample_sink *out, const struct wait_stack *wait,
			   const struct wait_top *top, uint32_t *frames)
{
	size_t nr = wait->nr;
	char name[64];

	memcpy(frames, wait->frames, nr * sizeof(*frames));
	if (top->object)
		frames[nr++] = sample_sink_wait_frame(out, top->object);
	if (!top->waker)
		return nr;
	snprintf(name, sizeof(name), "woken by %s", top->waker);
	frames[nr++] = sample_sink_wait_frame(out, name);
	for (size_t i = top->stack ? top->stack->nr : 0; i-- > 0;)
		frames[nr++] = top->stack->frames[i];
	return nr;
}

static uint64_t key_of(uint64_t key, const struct wait_top *top)
{
	uint64_t hash = XXH64(&top->waker_key, sizeof(top->waker_key), key);

	if (top->object)
		hash = XXH64(top->object, strlen(top->object), hash);
	if (top->waker)
		hash = XXH64(top->waker, strlen(top->waker), hash);
	return hash | 1;
}

struct known_stack wait_stacks_join(struct wait_stacks *s, struct sample_sink *out, uint64_t key,
				    const struct wait_stack *wait, const struct wait_top *top)
{
	struct known_stack known = { .incomplete = wait->incomplete };
	uint32_t frames[2 * SINK_MAX_FRAMES + 2];
	uint64_t joined = key ? key_of(key, top) : 0;
	size_t nr;

	if (joined && stack_ids_find(s->joined, joined, &known))
		return known;
	nr = s->nr_joined < MAX_JOINED ? write_frames(out, wait, top, frames) : wait->nr;
	known.stack = out->sink->stack(out->sink, nr > wait->nr ? frames : wait->frames, nr);
	s->nr_joined += nr > wait->nr;
	if (joined)
		stack_ids_add(s->joined, joined, known);
	return known;
}
