/*
 * The last stack of each thread is kept with the places its return addresses and frame pointers
 * were read from. Where all of them still hold what they held, the stack is the same and so is its
 * id; where the walk of a new stack meets a kept frame, the rest is taken from there. Of a thread that
 * runs Python that is the native half, and python_stack.c says whether the other is the same.
 *
 * Reads stay between the stack pointer and the end of the mapping it is in.
 */
#include "gpu/agent/launch_stack.h"

#include <string.h>

#include "core/walk_step.h"
#include "gpu/agent/arena.h"
#include "gpu/agent/python_stack.h"
#include "gpu/agent/stack_bounds.h"
#include "gpu/agent/walk_map.h"

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

/*
 * From which of the kept frames on nothing has changed up to the root, as far as that can be seen from
 * where their callers' return addresses and frame pointers were: c->nr where nothing is as it was. One look at each,
 * from the root on, serves the whole walk. What lies below sp is nobody's, and may not be there.
 */
static uint32_t unchanged_from(const struct stack_cache *c, uint64_t sp)
{
	uint32_t i = c->nr;

	if (!i || sp < c->low || sp >= c->high || c->frames[i - 1].sp > c->high)
		return i;
	for (; i > 1; i--) {
		const struct walked *w = &c->frames[i - 1];

		if (w->sp < sp + 8 || load(w->sp - 8) != c->pcs[i - 1])
			break;
		if (w->fp_slot &&
		    (w->fp_slot < sp || w->fp_slot > c->high - 8 || load(w->fp_slot) != w->fp))
			break;
	}
	return i - 1;
}

/* Where walk_apply() will read the caller's frame pointer; 0 = nowhere. Before the step; `cfa` is
 * the sp after it. */
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

static uint8_t end_of(enum walk_status status)
{
	switch (status) {
	case WALK_END: return GPU_STACK_COMPLETE;
	case WALK_NO_RULE: return GPU_STACK_NO_RULE;
	case WALK_READ_FAULT: return GPU_STACK_FAULT;
	case WALK_BAD_STACK: return GPU_STACK_BAD;
	case WALK_NEED_DWARF: return GPU_STACK_DWARF;
	default: return GPU_STACK_DEEP;
	}
}

/* Puts nr fresh frames in front of the kept ones from `at` on. */
static void splice(struct stack_cache *c, uint32_t nr, uint32_t at)
{
	uint32_t rest = c->nr - at;

	memmove(&c->pcs[nr], &c->pcs[at], rest * sizeof(c->pcs[0]));
	memmove(&c->frames[nr], &c->frames[at], rest * sizeof(c->frames[0]));
	memcpy(c->pcs, c->fresh_pcs, nr * sizeof(c->pcs[0]));
	memcpy(c->frames, c->fresh, nr * sizeof(c->frames[0]));
	c->nr = nr + rest;
}

/* After the step: a slot that could not be read says nothing about the frame pointer. */
static uint64_t readable_slot(const struct stack_cache *c, uint64_t slot, uint64_t fp)
{
	return slot >= c->low && slot <= c->high - 8 && load(slot) == fp ? slot : 0;
}

static const struct walk_rule *rule_at(struct stack_cache *c, uint64_t pc, struct walk_place *place)
{
	uint64_t key = pc | (uint64_t)c->generation << 48;
	struct rule_memo *m = &c->memos[(pc ^ pc >> 11) % RULE_MEMOS];

	if (m->key != key) {
		m->rule = *walk_map_rule(c->generation, pc, place);
		m->key = key;
	}
	return &m->rule;
}

/* `same`: unchanged_from(). */
static void walk(struct stack_cache *c, struct walk_regs *regs, uint32_t same, uint32_t max)
{
	struct walk_place place = { .start = 0 };
	enum walk_status status = WALK_OK;
	uint32_t nr = 0, kept = 0;
	uint64_t slot = 0;

	while (status == WALK_OK && nr < max) {
		const struct walk_rule *rule;
		uint64_t fp = regs->fp;

		while (kept < c->nr && c->frames[kept].sp < regs->sp)
			kept++;
		if (kept < c->nr && kept >= same && c->frames[kept].sp == regs->sp &&
		    c->pcs[kept] == regs->pc && c->frames[kept].fp == regs->fp &&
		    nr + c->nr - kept <= max) {
			uint64_t old_slot = c->frames[kept].fp_slot;

			splice(c, nr, kept);
			/* how the walk came here this time is what the next one must look at */
			c->frames[nr].fp_slot = nr ? slot : old_slot;
			return;
		}
		c->fresh_pcs[nr] = regs->pc;
		c->fresh[nr] = (struct walked){ regs->sp, regs->fp, slot };
		nr++;
		rule = rule_at(c, walk_lookup_pc(regs), &place);
		/* registers come from the signal's frame then, not from where we look for them */
		c->unsteady |= rule->cfa == WALK_CFA_SIGNAL;
		status = walk_apply(rule, regs, c);
		slot = readable_slot(c, fp_slot(rule, fp, regs->sp), regs->fp);
	}
	c->end = end_of(status);
	splice(c, nr, c->nr);
}

/* regs: those of the caller of the function whose frame this is. */
static bool first_frame(const void *frame, struct walk_regs *regs)
{
	const uint64_t *f = frame;

	regs->fp = f[0];
	regs->pc = f[1];
	regs->sp = (uint64_t)f + 16;
	regs->exact = 0;
	regs->leaf_regs = 0;
	return regs->pc != 0;
}

static uint32_t take_stack(struct thread *t, const void *frame)
{
	struct stack_cache *c = &t->stack;
	uint32_t generation = walk_map_generation(), nr, from;
	struct walk_regs regs;
	uint8_t end;
	bool same;

	if (!first_frame(frame, &regs))
		return 0;
	if (c->generation != generation || c->unsteady) {
		c->generation = generation;
		c->unsteady = false;
		c->nr = 0;
	}
	from = unchanged_from(c, regs.sp);
	same = c->nr && !from && c->frames[0].sp == regs.sp && c->pcs[0] == regs.pc &&
	       c->frames[0].fp == regs.fp;
	if (same && python_stack_is_same(t, generation)) {
		thread_count(t, THREAD_CACHED, 1);
		return c->id;
	}
	if (!same && (regs.sp < c->low || regs.sp >= c->high) && !stack_bounds(c, regs.sp))
		return 0;
	thread_count(t, THREAD_WALKED, 1);
	if (!same)
		walk(c, &regs, from, __atomic_load_n(&agent.max_frames, __ATOMIC_RELAXED));
	nr = python_stack_merge(t, generation, &end);
	/* the table in hand may have been written again meanwhile: see core/walk_tables.h */
	if (walk_map_generation() - generation > 1) {
		c->nr = 0;
		return 0;
	}
	c->id = nr ? arena_stack(t->python.frames, nr, end) : arena_stack(c->pcs, c->nr, c->end);
	return c->id;
}

uint32_t launch_stack(struct thread *t, const void *frame)
{
	uint32_t walk = t->walks | 1,
		 id; /* odd already where a signal handler jumped out of the last one */

	__atomic_store_n(&t->walks, walk, __ATOMIC_RELAXED);
	__atomic_signal_fence(
		__ATOMIC_SEQ_CST); /* the processor may still be late, by nanoseconds: walk_map_set() */
	id = take_stack(t, frame);
	__atomic_store_n(&t->walks, walk + 1, __ATOMIC_RELEASE);
	return id;
}
