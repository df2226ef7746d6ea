/*
 * How a walk over Python frames reads the target: the layout of its interpreter, frames through a
 * window of the thread's data stack, and the charge for each read.
 */
#ifndef SPROF_PYTHON_READ_BPF_H
#define SPROF_PYTHON_READ_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_PYTHONS);
	__type(key, __u32);
	__type(value, struct py_layout);
} pythons SEC(".maps");

#define NEAR_STACK 8192 /* bytes: a frame this near to the last one is read through the window */

/*
 * From CPython 3.11 on, frames lie one above the other on the thread's data stack, and reading two
 * kilobytes costs little more than reading eight bytes. So what lies below a frame is read with it,
 * down to the beginning of its page, because that much is mapped; above the frame nothing may be.
 */
static __always_inline int read_frames(struct walk_state *st, __u32 size, __u64 at)
{
	__u64 end = at + size, start = end - FRAMES_WINDOW;

	if (at - st->data_stack + NEAR_STACK >= 2 * NEAR_STACK)
		return 1;
	if (start < (at & ~4095ull))
		start = at & ~4095ull;
	size = (end - start) & 4095;
	if (size > FRAMES_WINDOW || read_user(st, st->frames_window, size, start))
		return 1;
	st->frames_base = start;
	st->frames_size = size;
	return 0;
}

static __always_inline struct walk_state *state_of(const struct py_walk *w)
{
	return (void *)((char *)w - offsetof(struct walk_state, py.walk));
}

static __always_inline int py_fetch_frame(struct py_walk *w, __u32 size, __u64 at)
{
	struct walk_state *st = state_of(w);
	const __u64 *from;

	st->frame_at = at;
	if (size > 8 * FRAME_WORDS)
		return read_user(st, w->words, size, at);
	if ((at < st->frames_base || at + size > st->frames_base + st->frames_size) &&
	    read_frames(st, size, at))
		return read_user(st, w->words, size, at);
	from = &st->frames_window[(at - st->frames_base) >> 3 & (FRAMES_WINDOW / 8 - 1)];
	for (__u32 i = 0; i < FRAME_WORDS; i++)
		w->words[i] = from[i];
	return 0;
}

static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address)
{
	return read_user(state_of(w), to, size, address);
}

static __always_inline int py_is_spent(struct py_runs *r, void *home)
{
	struct walk_state *st = home;

	(void)r;
	budget_charge(&st->budget, COST_PYTHON_FRAME);
	return st->budget.left < 0 && is_over(st, python_ns);
}

static __always_inline const struct py_layout *python_layout(struct walk_state *st)
{
	__u32 index = st->python;

	return bpf_map_lookup_elem(&pythons, &index);
}

#endif
