/*
 * The root end of a stack that takes too long to walk. The outermost frames of a thread change
 * rarely, so they are kept from a walk that reached the root. Where a later walk of the thread runs
 * out of time, they are joined to what was walked, if all of them are still on the stack: each
 * return address is where it was, above the frame at which the walk stopped.
 *
 * A thread that is always too deep never has such a walk. So where a walk stops is kept too, and
 * the next sample that runs out of time goes on from there, if that return address is still in its
 * place. After a few samples one of them reaches the root.
 *
 * Frames that have returned leave their addresses in memory, where a later function may have room
 * that it has not written yet. So what is kept is forgotten when a sample sees the thread above it,
 * or when no sample has confirmed it for KEPT_NS.
 *
 * Threads share the entries by their numbers. No lock guards an entry, so each word is stored
 * exclusive-or a number of its thread: words of another thread are not found on the stack.
 */
#ifndef SPROF_ROOT_END_BPF_H
#define SPROF_ROOT_END_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/walker.bpf.h"

struct root_end {
	__u64 key;     /* of the thread */
	__u64 time_ns; /* of the last sample that found it right */
	__u64 nr;      /* frames kept, leaf first; 0: no walk has reached the root yet */
	/* where the last walk stopped, or the innermost frame that is kept */
	__u64 stop_pc, stop_sp, stop_fp;
	struct root_frame frames[MAX_JOINED_FRAMES];
};

#define ROOT_ENDS 1024u /* power of two */
#define KEPT_NS 200000000u

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROOT_ENDS);
	__type(key, __u32);
	__type(value, struct root_end);
} root_ends SEC(".maps");

/* Is there any entry? Most recordings meet no stack that is deep enough. */
int nr_root_ends;

/* The entry of the running thread, which may hold another one's. NULL: nothing may be kept. */
static __always_inline struct root_end *root_end_of(const struct walk_state *st, __u64 *ret_key)
{
	__u64 thread = bpf_get_current_pid_tgid(), key;
	__u32 at;

	if (!st->table)
		return NULL;
	key = (thread ^ (__u64)st->table << 40) * 0x9fb21c651e98df25ull ^ st->event.epoch;
	at = thread & (ROOT_ENDS - 1);
	*ret_key = key | 1;
	return bpf_map_lookup_elem(&root_ends, &at);
}

/* The same if it holds what an earlier sample of the thread kept; otherwise NULL. */
static __always_inline struct root_end *kept_root_end(const struct walk_state *st, __u64 *ret_key)
{
	struct root_end *r = root_end_of(st, ret_key);

	if (!r || r->key != *ret_key || st->event.header.time_ns - r->time_ns > KEPT_NS)
		return NULL;
	return r;
}

/* The entry of the running thread, for its walk to fill in anew. */
static __always_inline struct root_end *begin_root_end(const struct walk_state *st, __u64 *ret_key)
{
	struct root_end *r = root_end_of(st, ret_key);

	if (!r)
		return NULL;
	r->key = *ret_key;
	r->time_ns = st->event.header.time_ns;
	r->nr = 0;
	nr_root_ends = 1;
	return r;
}

/* Is that return address where a call left it, above the frame where this walk is? */
static __always_inline int frame_is_live(struct walk_state *st, __u64 pc, __u64 sp)
{
	__u64 found;

	return sp > st->regs.sp && !read_user(st, &found, sizeof(found), sp - 8) && found == pc;
}

/*
 * Puts number i of the outermost frames into the entry. The bodies of loops are functions because
 * the verifier checks a function once.
 */
__noinline int keep_root_frame(struct walk_state *st, struct root_end *r, __u64 key, __u32 i)
{
	const struct root_frame *from;

	if (!st || !r)
		return 0;
	from = &st->outer[(st->nr_outer + i) & (MAX_JOINED_FRAMES - 1)];
	r->frames[i & (MAX_JOINED_FRAMES - 1)].pc = from->pc ^ key;
	r->frames[i & (MAX_JOINED_FRAMES - 1)].sp = from->sp ^ key;
	return 0;
}

/* Keeps the outermost frames of a walk that reached the root. */
__noinline int keep_root_end(struct walk_state *st)
{
	struct root_end *r;
	__u64 key;

	if (!st)
		return 0;
	r = begin_root_end(st, &key);
	if (!r)
		return 0;
	for (__u32 i = 0; i < MAX_JOINED_FRAMES; i++)
		keep_root_frame(st, r, key, i);
	r->stop_sp = r->frames[0].sp;
	r->nr = MAX_JOINED_FRAMES;
	return 0;
}

/* Keeps where a walk ran out of time. */
__noinline int keep_stop(struct walk_state *st)
{
	struct root_end *r;
	__u64 key;

	if (!st || st->regs.exact)
		return 0;
	r = begin_root_end(st, &key);
	if (!r)
		return 0;
	r->stop_pc = st->regs.pc ^ key;
	r->stop_sp = st->regs.sp ^ key;
	r->stop_fp = st->regs.fp ^ key;
	return 0;
}

/* Forgets what was kept of this thread if the leaf of this walk is above it. */
__noinline int forget_left_frames(struct walk_state *st)
{
	struct root_end *r;
	__u64 key;

	if (!st)
		return 0;
	r = root_end_of(st, &key);
	if (r && r->key == key && st->leaf_sp >= (r->stop_sp ^ key))
		r->key = 0;
	return 0;
}

/* Joins number i of the frames that were kept. 1: it is not there any more. */
__noinline int join_root_frame(struct walk_state *st, struct root_end *r, __u64 key, __u32 i)
{
	__u64 pc, sp;

	if (!st || !r)
		return 1;
	i &= MAX_JOINED_FRAMES - 1;
	pc = r->frames[i].pc ^ key;
	sp = r->frames[i].sp ^ key;
	if (!frame_is_live(st, pc, sp))
		return 1;
	st->joined[i] = pc;
	st->hash = (st->hash ^ pc) * 0x9fb21c651e98df25ull;
	st->hash ^= st->hash >> 32;
	return 0;
}

/* Joins the frames that were kept. 1: they are not there any more. */
__noinline int join_root_end(struct walk_state *st)
{
	struct root_end *r;
	__u64 key;

	if (!st)
		return 1;
	r = kept_root_end(st, &key);
	if (!r || r->nr != MAX_JOINED_FRAMES)
		return 1;
	for (__u32 i = 0; i < MAX_JOINED_FRAMES; i++)
		if (join_root_frame(st, r, key, i))
			return 1;
	st->event.nr_joined = MAX_JOINED_FRAMES;
	r->time_ns = st->event.header.time_ns;
	return 0;
}

/* Has an earlier walk of this thread stopped without finding the root? Its place is in *st. */
__noinline int has_stop(struct walk_state *st)
{
	struct root_end *r;
	__u64 key;

	if (!st)
		return 0;
	r = kept_root_end(st, &key);
	if (!r || r->nr)
		return 0;
	st->stop_pc = r->stop_pc ^ key;
	st->stop_sp = r->stop_sp ^ key;
	st->stop_fp = r->stop_fp ^ key;
	return 1;
}

/* Did the walk end before the root only because it took too long? */
static __always_inline int ran_out(const struct walk_state *st)
{
	return st->end == END_TOO_LONG || st->end == END_TOO_DEEP;
}

/*
 * After the first half of the time: 0 if the walk is over. Otherwise st->regs are where it goes on:
 * where it is, or where an earlier walk stopped. From there on, only the outermost frames are kept.
 */
__noinline int second_half(struct walk_state *st)
{
	if (!st)
		return 0;
	if (nr_root_ends)
		forget_left_frames(st);
	if (!ran_out(st))
		return 0;
	st->limit_ns = walk_ns;
	if (st->python || !has_stop(st) || !frame_is_live(st, st->stop_pc, st->stop_sp))
		return 1;
	st->first_end = st->end;
	st->first_sp = st->regs.sp;
	st->regs.pc = st->stop_pc;
	st->regs.sp = st->stop_sp;
	st->regs.fp = st->stop_fp;
	st->regs.exact = st->regs.leaf_regs = 0;
	st->window_base = -1ull;
	st->nr_outer = 0;
	st->climbs = 1;
	return 1;
}

/* After the walk: keeps the root end for later samples, or joins one that was kept. */
__noinline int finish_root_end(struct walk_state *st)
{
	int at_root, too_long;

	if (!st)
		return 0;
	at_root = st->end == END_ROOT && st->nr_outer >= MAX_JOINED_FRAMES;
	too_long = ran_out(st);
	if (at_root)
		keep_root_end(st);
	if (!st->climbs) {
		if (too_long && join_root_end(st) && !st->python)
			keep_stop(st);
		return 0;
	}
	if (!at_root) {
		if (!too_long)
			st->regs.sp = 0; /* not from there again */
		keep_stop(st);
	}
	st->end = st->first_end;
	st->regs.sp = st->first_sp;
	if (at_root)
		join_root_end(st);
	return 0;
}

/* Walks the user stack from st->regs. If the time is over before the root, joins the root end. */
static __always_inline void walk_to_root(struct walk_state *st)
{
	st->leaf_sp = st->regs.sp;
	walk_user(st);
	if (second_half(st))
		walk_batches(st);
	finish_root_end(st);
}

/* Puts number i of the joined frames behind the others. */
__noinline int append_root_frame(struct walk_state *st, __u32 i)
{
	if (!st)
		return 0;
	st->frames[(st->event.nr_kernel + st->event.nr_user + i) & FRAMES_MASK] =
		st->joined[i & (MAX_JOINED_FRAMES - 1)];
	return 0;
}

/* Puts the joined frames behind the others. */
__noinline int append_root_end(struct walk_state *st)
{
	if (!st)
		return 0;
	for (__u32 i = 0; i < MAX_JOINED_FRAMES; i++)
		append_root_frame(st, i);
	return 0;
}

#endif
