/*
 * The kernel frames of a thread that has waited, without unwinding them each time, which is most of
 * what a sample of a wait costs. While a thread is switched away its kernel stack stays as it was
 * left. The unwinder goes by return addresses alone: each says where the next one lies. So where
 * all return addresses of a known stack are in their places again, the frames are those of that
 * stack. Places count from the end that the thread left; the last return address lies at the other
 * end, as the kernel begins the stack of each system call at a random distance from it.
 *
 * A place is where an address is first met, which can be an old one in a place that is not in use.
 * Those change from call to call, so frames are used only after two stacks had the same places.
 */
#ifndef SPROF_LEFT_STACK_BPF_H
#define SPROF_LEFT_STACK_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/system_calls_x86_64.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/waiting_x86_64.bpf.h"
#include "sampler/bpf/walk_state.bpf.h"

#define LEFT_WORDS 384	   /* 3 KiB; deeper stacks are unwound */
#define LEFT_WORDS_AT 4096 /* in walk_state.frames */
#define LEFT_FRAMES 24	   /* stacks with more are unwound, too */
#define INNER_FRAMES                                                                               \
	5	     /* at most: of this program and of the switch itself, not on the left stack */
#define LEFT_SETS 16 /* of stacks that begin with the same system call; power of two */
#define LEFT_WAYS 4  /* stacks in a set; power of two */

struct left_stack {
	__u32 nr;    /* frames */
	__u16 first; /* of those on the stack */
	__u16 sure;  /* two stacks had these places */
	__u64 frames[LEFT_FRAMES];
	__u16 places[LEFT_FRAMES];
};

/* Of each CPU: nothing else writes there while a wait is sampled. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LEFT_SETS *LEFT_WAYS);
	__type(key, __u32);
	__type(value, struct left_stack);
} left_stacks SEC(".maps");

/*
 * Copies the stack that the running thread left when it was last switched from to st->frames, from
 * number LEFT_WORDS_AT on. Returns how many words that are; 0: it is too deep.
 */
__noinline int copy_left_stack(struct walk_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 start = left_stack_start(task), size;

	if (!st)
		return 0;
	/* Through memory, because a pointer cannot be subtracted from. */
	*(volatile __u64 *)&st->copied = (__u64)bpf_task_pt_regs(task);
	size = *(volatile __u64 *)&st->copied - start;
	if (size > LEFT_WORDS * 8 ||
	    bpf_probe_read_kernel(&st->frames[LEFT_WORDS_AT], size, (void *)start))
		return 0;
	return size >> 3;
}

static __always_inline __u64 left_word(const struct walk_state *st, __u32 at)
{
	return st->frames[(LEFT_WORDS_AT + at) & FRAMES_MASK];
}

static __always_inline struct left_stack *left_stack_at(__u32 way)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 slot = ((__u32)call_number(task) & (LEFT_SETS - 1)) * LEFT_WAYS + way;

	return bpf_map_lookup_elem(&left_stacks, &slot);
}

/*
 * Is frame number st->low of way number `way` in its place on the copied stack, of nr words? As the
 * functions below a function of its own, with its counter in memory: the verifier checks it once.
 */
__noinline int is_in_place(struct walk_state *st, __u32 nr, __u32 way)
{
	struct left_stack *known = left_stack_at(way & (LEFT_WAYS - 1));
	__u32 at, place;

	if (!st || !known)
		return 0;
	at = st->low++;
	if (at >= LEFT_FRAMES)
		return 0;
	place = at + 1 == known->nr ? nr - 1 : known->places[at];
	return place < nr && left_word(st, place) == known->frames[at];
}

/* Takes the frames of way number `way` of the set, if the copied stack, of nr words, has them. */
__noinline int take_known_frames(struct walk_state *st, __u32 nr, __u32 way)
{
	struct left_stack *known = left_stack_at(way & (LEFT_WAYS - 1));
	__u32 left;

	if (!st || !known || !known->sure)
		return 0;
	st->low = known->first;
	left = known->nr - known->first;
	for (__u32 i = 0; i < LEFT_FRAMES; i++) {
		if (i >= left)
			break;
		if (!is_in_place(st, nr, way))
			return 0;
	}
	for (__u32 i = 0; i < LEFT_FRAMES; i++)
		st->frames[i] = known->frames[i];
	st->event.nr_kernel = known->nr;
	return 1;
}

/* Takes the frames of a stack that was left and is known, of nr words. */
static __always_inline bool take_left_frames(struct walk_state *st, __u32 nr)
{
	for (__u32 way = 0; way < LEFT_WAYS; way++)
		if (take_known_frames(st, nr, way))
			return true;
	return false;
}

static __always_inline __u16 *found_places(struct walk_state *st)
{
	return (__u16 *)st->window; /* which is not in use yet */
}

/*
 * Looks whether word number st->word of the copied stack is the next frame, number st->high, or one
 * that can be the first, which becomes st->low. Returns whether it was the last of them.
 */
__noinline int find_place(struct walk_state *st)
{
	__u32 next;
	__u64 word;

	if (!st)
		return 1;
	word = left_word(st, st->word);
	next = st->high;
	if (!next) {
		for (__u32 i = INNER_FRAMES - 1; i > 0; i--)
			if (word == st->frames[i])
				st->low = next = i;
		if (!next)
			return 0;
	} else if (word != st->frames[next & FRAMES_MASK]) {
		return 0;
	}
	found_places(st)[next & 31] = st->word;
	st->high = next + 1;
	return st->high + 1 >= st->event.nr_kernel;
}

/*
 * Finds the places of the frames that were unwound on the copied stack, of nr words. 0: not all of
 * them are there.
 */
__noinline int find_places(struct walk_state *st, __u32 nr)
{
	if (!st || st->event.nr_kernel > LEFT_FRAMES)
		return 0;
	st->low = st->high = 0;
	st->word = 0;
	for (__u32 i = 0; i + 1 < LEFT_WORDS; i++) {
		if (i + 1 >= nr)
			return 0;
		if (find_place(st))
			break;
		st->word++;
	}
	return st->high + 1 == st->event.nr_kernel &&
	       left_word(st, nr - 1) == st->frames[st->high & FRAMES_MASK];
}

/* Is frame number st->word of way number `way` the one that was found, in the same place? */
__noinline int is_same(struct walk_state *st, __u32 way)
{
	struct left_stack *known = left_stack_at(way & (LEFT_WAYS - 1));
	__u32 at;

	if (!st || !known)
		return 0;
	at = st->word++;
	if (at >= LEFT_FRAMES || known->frames[at] != st->frames[at])
		return 0;
	return at < known->first || at + 1 >= known->nr ||
	       known->places[at] == found_places(st)[at];
}

/* Makes sure of way number `way` if it is the stack that was found. */
__noinline int is_kept(struct walk_state *st, __u32 way)
{
	struct left_stack *known = left_stack_at(way & (LEFT_WAYS - 1));

	if (!st || !known || known->nr != st->event.nr_kernel || known->first != st->low)
		return 0;
	st->word = 0;
	for (__u32 i = 0; i < LEFT_FRAMES; i++) {
		if (i >= known->nr)
			break;
		if (!is_same(st, way))
			return 0;
	}
	known->sure = 1;
	return 1;
}

/* Keeps the frames that were unwound, with the places that find_places() has found. */
__noinline int keep_frames(struct walk_state *st)
{
	struct left_stack *known;

	if (!st)
		return 0;
	for (__u32 way = 0; way < LEFT_WAYS; way++)
		if (is_kept(st, way))
			return 0;
	known = left_stack_at(bpf_get_prandom_u32() & (LEFT_WAYS - 1));
	if (!known)
		return 0;
	known->sure = 0;
	known->nr = st->event.nr_kernel;
	known->first = st->low;
	for (__u32 i = 0; i < LEFT_FRAMES; i++) {
		known->frames[i] = st->frames[i];
		known->places[i] = found_places(st)[i];
	}
	return 0;
}

#endif
