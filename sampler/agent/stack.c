/*
 * The stack walk inside a target. It reads the stack directly where memory is known to be readable:
 * the kernel is asked about some pages of a thread's stack, and the thread's slot remembers the
 * answer for many samples. A pointer to anywhere else is asked about first, so a wild pointer ends
 * the walk and not the target.
 *
 * Most stacks equal the one before except near the leaf. So a walk keeps its steps as a path, and
 * the next walk takes each rule from there as long as its frames are the same.
 */
#include "sampler/agent/agent.h"

#define RED_ZONE 128u

static __always_inline int walk_read(void *context, __u64 address, __u64 *ret)
{
	struct agent_walk *w = context;

	if (address < w->low || address >= w->high || w->high - address < 8) {
		if (agent_extend_readable(w, address) || w->high - address < 8)
			return -1;
	}
	__builtin_memcpy(ret, (const void *)address, 8);
	return 0;
}

#include "core/portable/walk_step.h"

void agent_read_regs(struct walk_regs *regs, const struct agent_ucontext *uc)
{
	for (__u32 i = 0; i < WALK_NR_REGS; i++)
		regs->gpr[(WALK_UCONTEXT_ORDER >> (4 * i)) & (WALK_NR_REGS - 1)] = uc->gregs[i];
	regs->pc = uc->pc;
	regs->sp = regs->gpr[WALK_REG_SP];
	regs->fp = regs->gpr[WALK_REG_FP];
	regs->exact = 1;
	regs->leaf_regs = 1;
}

/*
 * The rule for pc, in *ret. END_ROOT, or why there is none. Searching for rules would take
 * most of the time of a walk, and programs run where they ran a moment ago: so found rules are kept
 * in w->known.
 */
static __always_inline __u32 find_rule(const struct agent_walk *w, struct walk_place *place,
				       __u64 pc, struct walk_rule *ret)
{
	__u64 *known = &w->known[(pc * 0x9fb21c651e98df25ull >> 40) & (REGION_NR_KNOWN - 1)];
	__u64 word = __atomic_load_n(known, __ATOMIC_RELAXED);
	__u64 tag = pc | (__u64)(w->generation & 1) << 47; /* addresses have 47 bits */
	__u32 number = (__u32)word & 0xffff;

	if (!word || word >> 16 != tag) {
		if (pc - place->start >= place->end - place->start &&
		    !walk_find_place(w->space, w->arena, w->generation, pc, place))
			return END_NO_MAP;
		if (place->module.state == WALK_MODULE_PENDING)
			return END_PENDING;
		number = walk_find_rule(w->arena, place, pc);
		__atomic_store_n(known, tag << 16 | number, __ATOMIC_RELAXED);
	}
	*ret = w->arena->rules[number];
	return END_ROOT;
}

#define AGENT_GOES_ON 255u
#define LINE_STEPS 4u /* steps in a cache line */

/* The state of a walk along a path. */
struct follower {
	struct agent_path *path; /* NULL: this walk has none */
	/* a ring of steps that are not in the path, REGION_PATH_STEPS + 1 of them */
	struct agent_step *fresh;
	__u32 nr_fresh;
	__u32 at; /* the next step of the path */
};

/* Begins at the leaf's side. The whole path is read soon, so it is prefetched at once. */
static __always_inline void begin_path(struct follower *f, const struct agent_walk *w)
{
	f->path = w->path;
	f->fresh = w->fresh;
	f->nr_fresh = 0;
	f->at = REGION_PATH_STEPS;
	if (!f->path)
		return;
	if (f->path->generation != w->generation || f->path->first > REGION_PATH_STEPS) {
		f->path->generation = w->generation;
		f->path->first = REGION_PATH_STEPS;
	}
	f->at = f->path->first;
	for (__u32 i = f->at; i < REGION_PATH_STEPS; i += LINE_STEPS)
		__builtin_prefetch(&f->path->steps[i]);
}

/*
 * Puts the fresh steps into the path, before its steps from f->at on; of too many, those on the
 * root's side.
 */
static void keep_fresh(struct follower *f)
{
	__u32 nr = f->nr_fresh < f->at ? f->nr_fresh : f->at;

	for (__u32 i = 1; i <= nr; i++)
		f->path->steps[f->at - i] = f->fresh[(f->nr_fresh - i) & REGION_PATH_STEPS];
	f->path->first = f->at - nr;
	f->nr_fresh = 0;
}
_Static_assert((REGION_PATH_STEPS & (REGION_PATH_STEPS + 1)) == 0, "a mask");

/*
 * Is the frame a later step of the path? Then takes its rule. Steps below sp belong to frames that
 * have returned.
 */
static __always_inline int follow(struct follower *f, __u64 key, struct walk_rule *ret)
{
	for (; f->at < REGION_PATH_STEPS; f->at++) {
		const struct agent_step *step = &f->path->steps[f->at];

		if (step->at == key) {
			if (f->nr_fresh)
				keep_fresh(f);
			*ret = step->rule;
			f->at++;
			return 1;
		}
		if ((__s16)((__u16)step->at - (__u16)key) >= 0)
			break;
	}
	return 0;
}

/* One frame up: AGENT_GOES_ON, or how the walk ended. */
static __always_inline __u32 step_up(struct agent_walk *w, struct walk_place *place,
				     struct follower *f, struct walk_regs *regs)
{
	__u64 pc = walk_lookup_pc(regs), key = pc << 16 | (regs->sp >> 3 & 0xffff);
	enum walk_status status;
	struct walk_rule rule;
	__u32 end;

	if (!f->path || pc >= WALK_USER_END || !follow(f, key, &rule)) {
		end = find_rule(w, place, pc, &rule);
		if (end != END_ROOT)
			return end;
		if (f->path)
			f->fresh[f->nr_fresh++ & REGION_PATH_STEPS] =
				(struct agent_step){ key, rule };
	}
	status = walk_apply(&rule, regs, w);
	return status == WALK_OK ? AGENT_GOES_ON : walk_end_of(status);
}

/* The registers are a local copy, so the compiler knows that storing frames cannot change them. */
void agent_walk_stack(struct agent_walk *w)
{
	__u64 *restrict frames = w->frames;
	struct walk_place place = { 0 };
	struct walk_regs regs = w->regs;
	struct follower follower;
	__u32 nr = w->nr;

	begin_path(&follower, w);
	/* The frame pointer of the leaf may point right below sp, into the red zone. */
	if (regs.sp - RED_ZONE < w->low || regs.sp >= w->high) {
		if (agent_extend_readable(w, regs.sp - RED_ZONE))
			agent_extend_readable(w, regs.sp);
	}
	w->end = END_TOO_DEEP;
	for (__u32 i = 0; i < MAX_STEPS; i++) {
		__u64 pc = walk_lookup_pc(&regs), sp = regs.sp;
		__u64 frame = regs.exact ? regs.pc | FRAME_EXACT : regs.pc;
		__u32 end;

		budget_charge(&w->budget, COST_STEP);
		if (w->budget.left < 0) {
			w->end = END_TOO_LONG;
			break;
		}
		end = step_up(w, &place, &follower, &regs);
		if (w->python && py_run_is_at(&w->python->runs, pc, sp, regs.sp))
			nr = agent_python_run(w->python, frames, nr);
		else
			frames[agent_frame_slot(nr++)] = frame;
		if (end != AGENT_GOES_ON) {
			w->end = end;
			break;
		}
	}
	if (follower.nr_fresh) {
		follower.at = REGION_PATH_STEPS;
		keep_fresh(&follower);
	}
	w->nr = nr;
	w->regs.pc = regs.pc;
	w->regs.sp = regs.sp;
	w->regs.fp = regs.fp;
}
