/*
 * The last stack of each thread is kept, with the places where its return addresses and frame
 * pointers were read. If they all still hold the same values, the stack and its id are the same.
 * Where the walk of a new stack meets a kept frame, the rest is copied. For a thread that runs
 * Python this is the native half; python_stack.c compares the other half.
 *
 * The time of a walk is loads that wait for each other: a return address, its rule, the next return
 * address. So each rule remembers the rule that followed it last time, and only compares.
 *
 * Reads stay between the stack pointer and the end of the mapping that it lies in.
 */
#include "gpu/agent/stack/launch_stack.h"

#include <string.h>

#include "core/portable/walk_step.h"
#include "gpu/agent/base/arena.h"
#include "gpu/agent/stack/frame_x86_64.h"
#include "gpu/agent/stack/python_stack.h"
#include "gpu/agent/stack/stack_bounds.h"
#include "gpu/agent/stack/walk_map.h"

static uint32_t max_frames = GPU_MAX_STACK; /* atomic */

void launch_stack_set_max(uint32_t frames)
{
	__atomic_store_n(&max_frames, frames, __ATOMIC_RELAXED);
}

static __always_inline int walk_read(void *ctx, __u64 address, __u64 *ret)
{
	const struct stack_cache *c = ctx;

	if (address < c->low || address > c->high - 8)
		return -1;
	*ret = *(const __u64 *)address; // NOLINT: the thread's own stack
	return 0;
}

static uint64_t load(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* Frames that are compared without a branch for each: nearly always all are unchanged. */
#define CHUNK 8

/* What unchanged_from() asks of one frame, of the last frames before `w` and `pc`. */
static inline bool chunk_is_same(const struct walked *w, const uint64_t *pc, uint64_t sp)
{
	uint64_t changed = 0;

#pragma GCC unroll 8
	for (int i = 1; i <= CHUNK; i++) {
		uint64_t slot = w[-i].fp_slot;

		changed |= load(frame_return_slot(w[-i].sp)) ^ pc[-i];
		if (slot && slot < sp)
			return false;
		if (slot)
			changed |= load(slot) ^ w[-i].fp;
	}
	return !changed;
}

/*
 * Returns the first kept frame from which on, up to the root, all saved return addresses and frame
 * pointers are unchanged; c->nr if there is none. One pass from the root serves the whole walk.
 * Memory below sp is free and may be unmapped: it is not read.
 */
static uint32_t unchanged_from(struct stack_cache *c, uint64_t sp)
{
	const struct frames *f = stack_frames(c);
	const struct walked *w = &f->walked[c->nr], *last = f->walked;
	const uint64_t *pc = &f->pcs[c->nr];

	if (!c->nr || sp < c->low || sp >= c->high || w[-1].sp > c->high)
		return c->nr;
	while (last < w && last->sp < sp + 8)
		last++; /* stack pointers grow towards the root */
	last += last == f->walked;
	for (; w - last >= CHUNK && chunk_is_same(w, pc, sp); w -= CHUNK, pc -= CHUNK)
		;
	for (; w > last; w--, pc--) {
		uint64_t slot = w[-1].fp_slot;

		if (load(frame_return_slot(w[-1].sp)) != pc[-1])
			break;
		/* the slot was inside the mapping when it was stored, so it is below the end now */
		if (slot && (slot < sp || load(slot) != w[-1].fp))
			break;
	}
	return (uint32_t)(w - f->walked) - (w > f->walked);
}

/*
 * Where walk_apply() read the caller's frame pointer; 0 = nowhere. `fp` is from before the step,
 * `cfa` the sp after it.
 */
static uint64_t fp_slot(const struct walk_rule *rule, uint64_t fp, uint64_t cfa)
{
	if (rule->cfa == WALK_CFA_NONE)
		return fp;
	if (rule->fp == WALK_FP_CFA)
		return cfa + (uint64_t)(int64_t)rule->fp_off;
	if (rule->fp == WALK_FP_FP)
		return fp + (uint64_t)(int64_t)rule->fp_off;
	return 0;
}

/* The slot, or 0 if it cannot be read or does not hold fp. After the step. */
static uint64_t readable_slot(const struct stack_cache *c, uint64_t slot, uint64_t fp)
{
	return slot >= c->low && slot <= c->high - 8 && load(slot) == fp ? slot : 0;
}

/* A walk in progress; it writes into the frames that are not in use. */
struct climb {
	struct walk_regs regs;
	bool has_gpr;  /* regs.gpr is valid; few walks need it */
	uint64_t slot; /* where regs.fp was read */
	uint32_t nr, max;
	uint32_t *guess; /* the memo expected next */
	uint64_t sum;	 /* arena_sum() of the frames */
	struct walk_place place;
};

static struct frames *fresh_frames(struct stack_cache *c)
{
	return &c->frames[!c->in_use];
}

static __attribute__((noinline)) struct rule_memo *
look_up(struct stack_cache *c, uint64_t pc, uint64_t key, uint32_t *guess, struct walk_place *place)
{
	uint32_t i = (uint32_t)((pc ^ pc >> 11) % RULE_MEMOS);
	struct rule_memo *m = &c->memos[i];

	if (m->key != key) {
		m->rule = *walk_map_rule(c->generation, pc, place);
		m->mixed = arena_mix(pc + 1);
		m->is_plain = (m->rule.cfa == WALK_CFA_SP || m->rule.cfa == WALK_CFA_FP) &&
			      (m->rule.fp == WALK_FP_SAME || m->rule.fp == WALK_FP_CFA);
		m->key = key;
	}
	*guess = i;
	return m;
}

static inline struct rule_memo *memo_at(struct stack_cache *c, uint64_t pc, uint32_t *guess,
					struct walk_place *place)
{
	uint64_t key = pc | (uint64_t)c->generation << 48;
	struct rule_memo *m = &c->memos[*guess];

	return __builtin_expect(m->key == key, 1) ? m : look_up(c, pc, key, guess, place);
}

/* One frame up, by any rule. */
static enum walk_status step(struct stack_cache *c, struct climb *w)
{
	struct frames *f = fresh_frames(c);
	uint64_t fp = w->regs.fp;
	struct rule_memo *m = memo_at(c, walk_lookup_pc(&w->regs), w->guess, &w->place);
	enum walk_status status;

	f->pcs[w->nr] = w->regs.pc;
	f->walked[w->nr++] = (struct walked){ w->regs.sp, fp, w->slot };
	w->sum = arena_sum(w->sum, f->pcs[w->nr - 1]);
	w->guess = &m->caller;
	/* past a signal frame, registers come from places that unchanged_from() does not look at */
	c->unsteady |= m->rule.cfa == WALK_CFA_SIGNAL;
	if (m->rule.cfa >= WALK_CFA_SIGNAL && !w->has_gpr) {
		memset(w->regs.gpr, 0, sizeof(w->regs.gpr));
		w->has_gpr = true;
	}
	status = walk_apply(&m->rule, &w->regs, c);
	w->slot = readable_slot(c, fp_slot(&m->rule, fp, w->regs.sp), w->regs.fp);
	return status;
}

/*
 * The fast step(): goes up while rules are plain (CFA from sp or fp, fp unchanged or saved at the
 * CFA). Stops before the first frame with another rule, or when sp reaches `until`.
 */
static void walk_plainly(struct stack_cache *c, struct climb *w, uint64_t until)
{
	const uint64_t low = c->low, high = c->high;
	struct frames *f = fresh_frames(c);
	uint64_t pc = w->regs.pc, sp = w->regs.sp, fp = w->regs.fp, slot = w->slot, sum = w->sum;
	uint64_t *pcs = &f->pcs[w->nr], *const end = &f->pcs[w->max];
	struct walked *walked = &f->walked[w->nr];
	uint32_t *guess = w->guess;

	while (pcs < end && sp < until) {
		struct rule_memo *m = memo_at(c, pc - 1, guess, &w->place);
		uint64_t cfa =
			(m->rule.cfa == WALK_CFA_FP ? fp : sp) + (uint64_t)(int64_t)m->rule.cfa_off;
		uint64_t next_fp = fp, next_slot = 0, next_pc;

		if (!m->is_plain || cfa <= sp || cfa > high || cfa & 7)
			break;
		if (m->rule.fp == WALK_FP_CFA) {
			next_slot = cfa + (uint64_t)(int64_t)m->rule.fp_off;
			if (next_slot < low || next_slot > high - 8)
				break;
			next_fp = load(next_slot);
		}
		next_pc = load(frame_return_slot(cfa));
		if (!next_pc)
			break;
		*pcs++ = pc;
		*walked++ = (struct walked){ sp, fp, slot };
		sum = sum * ARENA_FACTOR + m->mixed;
		guess = &m->caller;
		pc = next_pc;
		sp = cfa;
		fp = next_fp;
		slot = next_slot;
	}
	w->regs.pc = pc;
	w->regs.sp = sp;
	w->regs.fp = fp;
	w->slot = slot;
	w->sum = sum;
	w->guess = guess;
	w->nr = (uint32_t)(pcs - f->pcs);
}

static uint64_t factor_to(uint32_t power)
{
	uint64_t factor = ARENA_FACTOR, result = 1;

	for (; power; power >>= 1, factor *= factor)
		if (power & 1)
			result *= factor;
	return result;
}

/*
 * Makes the stack from the fresh frames followed by the kept ones from `at` on. Copies and sums
 * whichever part is shorter.
 */
static void join(struct stack_cache *c, const struct climb *w, uint32_t at)
{
	struct frames *kept = stack_frames(c), *fresh = fresh_frames(c);
	uint32_t rest = c->nr - at;
	uint64_t sum = w->sum, gone = 0;

	if (at < rest) {
		for (uint32_t i = 0; i < at; i++)
			gone = arena_sum(gone, kept->pcs[i]);
		sum = (sum - gone) * factor_to(rest) + c->sum;
	} else {
		for (uint32_t i = at; i < c->nr; i++)
			sum = arena_sum(sum, kept->pcs[i]);
	}
	if (w->nr == at && at < rest) {
		for (uint32_t i = 0; i < at; i++) {
			kept->pcs[i] = fresh->pcs[i];
			kept->walked[i] = fresh->walked[i];
		}
	} else {
		memcpy(&fresh->pcs[w->nr], &kept->pcs[at], rest * sizeof(kept->pcs[0]));
		memcpy(&fresh->walked[w->nr], &kept->walked[at], rest * sizeof(kept->walked[0]));
		c->in_use = !c->in_use;
	}
	c->sum = sum;
	c->nr = w->nr + rest;
}

/* True if the next frame is kept frame i: then all frames above it are the kept ones. */
static bool is_kept(struct stack_cache *c, const struct climb *w, uint32_t i)
{
	const struct frames *f = stack_frames(c);

	return i < c->nr && f->walked[i].sp == w->regs.sp && f->pcs[i] == w->regs.pc &&
	       f->walked[i].fp == w->regs.fp && w->nr + c->nr - i <= w->max;
}

/* Walks from w->regs; `same` is unchanged_from(). Not inlined: most launches need no walk. */
static __attribute__((noinline)) void walk(struct stack_cache *c, struct climb *w, uint32_t same)
{
	const struct frames *f = stack_frames(c);
	enum walk_status status = WALK_OK;
	uint32_t kept = same;

	w->slot = w->sum = w->nr = 0;
	w->has_gpr = false;
	w->max = __atomic_load_n(&max_frames, __ATOMIC_RELAXED);
	w->guess = &c->leaf;
	w->place.start = w->place.end = 0;
	while (status == WALK_OK && w->nr < w->max) {
		if (!w->regs.exact && !w->regs.leaf_regs && w->regs.sp >= c->low)
			walk_plainly(c, w, kept < c->nr ? f->walked[kept].sp : UINT64_MAX);
		while (kept < c->nr && f->walked[kept].sp < w->regs.sp)
			kept++;
		if (is_kept(c, w, kept)) {
			uint64_t slot = w->nr ? w->slot : f->walked[kept].fp_slot;

			join(c, w, kept);
			/*
			 * this walk came here by another way: the next comparison must use its slot
			 */
			stack_frames(c)->walked[w->nr].fp_slot = slot;
			return;
		}
		if (w->nr < w->max)
			status = step(c, w);
	}
	c->end = (uint8_t)walk_end_of(status);
	join(c, w, c->nr);
}

static uint32_t take_stack(struct thread *t, const void *frame)
{
	struct stack_cache *c = &t->stack;
	uint32_t generation = walk_map_generation(), nr, from;
	const struct frames *f;
	struct climb w; /* not initialized: it is large, and this is the hot path */
	uint8_t end;
	bool same;

	if (!frame_caller(frame, &w.regs))
		return 0;
	if (c->generation != generation || c->unsteady) {
		c->generation = generation;
		c->unsteady = false;
		c->nr = 0;
	}
	from = unchanged_from(c, w.regs.sp);
	f = stack_frames(c);
	same = c->nr && !from && f->walked[0].sp == w.regs.sp && f->pcs[0] == w.regs.pc &&
	       f->walked[0].fp == w.regs.fp;
	if (same && python_stack_is_same(t, generation)) {
		thread_count(t, THREAD_CACHED, 1);
		return c->id;
	}
	if (!same && (w.regs.sp < c->low || w.regs.sp >= c->high) && !stack_bounds(c, w.regs.sp))
		return 0;
	thread_count(t, THREAD_WALKED, 1);
	if (!same)
		walk(c, &w, from);
	nr = python_stack_merge(t, generation, &end);
	/* two generations later the table may have been overwritten: core/portable/walk_tables.h */
	if (walk_map_generation() - generation > 1) {
		c->nr = 0;
		return 0;
	}
	c->id = nr ? arena_stack(t->python.frames, nr, end)
		   : arena_stack_of_sum(stack_frames(c)->pcs, c->nr, c->end, c->sum);
	return c->id;
}

uint32_t launch_stack(struct thread *t, const void *frame)
{
	uint32_t walk =
		t->walks | 1; /* already odd if a signal handler jumped out of the last walk */
	uint32_t id;

	__atomic_store_n(&t->walks, walk, __ATOMIC_RELAXED);
	/*
	 * orders the compiler only; walk_map_set() allows for a store that is late by nanoseconds
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	id = take_stack(t, frame);
	__atomic_store_n(&t->walks, walk + 1, __ATOMIC_RELEASE);
	return id;
}
