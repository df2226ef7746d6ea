/*
 * The signal handler: takes a sample of the thread that it interrupts. Every signal is blocked
 * while it runs, so it never interrupts itself. A signal on the same number that is not ours goes
 * to the handler that the program had for it.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define SIG_SETMASK 2
#define SERVED_AT_ONCE 64
/* After so many samples the kernel is asked again which part of a stack is readable. */
#define TRUSTED_SAMPLES 256

static __u32 cpu_now(const struct agent_region *r)
{
	long (*getcpu)(unsigned int *, void *, void *) = (void *)r->getcpu;
	unsigned int cpu = 0;

	if (getcpu)
		getcpu(&cpu, (void *)0, (void *)0);
	return cpu;
}

/* Rules that were found in the tables of an earlier generation are no longer valid. */
static void forget_known(struct agent_region *r, __u32 generation)
{
	__u32 was = __atomic_exchange_n(&r->known_generation, generation, __ATOMIC_RELAXED);

	for (__u32 i = 0; was != generation && i < REGION_NR_KNOWN; i++)
		__atomic_store_n(&r->known[i], 0, __ATOMIC_RELAXED);
}

/* Prepares the walk over this thread's Python frames, if there is an interpreter. */
static void prepare_python(struct agent_region *r, const struct agent_taken *t,
			   struct agent_walk *w, __u32 scratch)
{
	struct agent_python *p = &r->pythons[scratch].python;
	const struct py_layout *layout = &w->space->python[w->generation & 1];

	w->python = (void *)0;
	if (!w->generation || !layout->runtime)
		return;
	p->layout = layout;
	p->codes = r->codes;
	p->nr_codes = &r->nr_codes;
	p->region = r;
	p->taken = t;
	p->budget = &w->budget;
	w->python = p;
	agent_python_begin(p);
}

/* Stores the leaf alone; all Python frames follow it. */
static void keep_leaf(struct agent_walk *w, const struct agent_ucontext *uc)
{
	w->frames[w->nr++] = uc->pc | FRAME_EXACT;
	if (w->python)
		agent_python_begin(w->python);
}

/* Threads share paths; only one handler at a time uses a path, and the other walks without. */
static void walk_along_path(struct agent_region *r, __u32 slot, struct agent_walk *w)
{
	struct agent_path *path = &r->paths[slot & (REGION_NR_PATHS - 1)];

	agent_expect_sample(r, slot);
	w->path = __atomic_exchange_n(&path->busy, 1, __ATOMIC_ACQUIRE) ? (void *)0 : path;
	agent_walk_stack(w);
	if (w->path)
		__atomic_store_n(&path->busy, 0, __ATOMIC_RELEASE);
}

static void note_broken(struct agent_walk *w)
{
	w->python_broken = w->python && agent_python_broken(w->python);
	if (w->python && w->python->runs.spent)
		w->end = END_TOO_LONG;
}

/* 0, or -1 where there is no credit or no room. */
static int put_snapshot(struct agent_region *r, const struct agent_taken *t, struct agent_walk *w,
			const struct agent_ucontext *uc)
{
	struct walk_regs leaf;

	if (!agent_may_snapshot(r, t->slot))
		return -1;
	agent_read_regs(&leaf, uc);
	if (w->python)
		agent_python_flatten(w->python);
	note_broken(w);
	return agent_put_snapshot(r, t, w, &leaf);
}

/* Can the recorder go further than the walk here? Where no rule leads on, it guesses callers. */
static int wants_snapshot(__u32 end)
{
	return end == END_NO_MAP || end == END_NO_RULE || end == END_BAD_STACK ||
	       (end >= END_PENDING && end != END_TOO_LONG);
}

static void walk(struct agent_region *r, const struct agent_taken *t, struct agent_walk *w,
		 const struct agent_ucontext *uc, __u32 scratch)
{
	struct agent_slot *s = &r->slots[t->slot];

	w->space = (const void *)(r + 1);
	w->arena = (const void *)r->arena;
	w->generation = __atomic_load_n(&w->space->generation, __ATOMIC_ACQUIRE);
	w->budget = (struct walk_budget){ .left = BUDGET_UNITS };
	prepare_python(r, t, w, scratch);
	w->known = r->known;
	if (__atomic_load_n(&r->known_generation, __ATOMIC_RELAXED) != w->generation)
		forget_known(r, w->generation);
	w->nr = 0;
	w->low = w->high = 0;
	if (s->nr_samples++ % TRUSTED_SAMPLES && w->regs.sp >= s->stack_low &&
	    w->regs.sp < s->stack_high) {
		w->low = s->stack_low;
		w->high = s->stack_high;
	}
	if (!w->arena || !w->generation)
		w->end = END_PENDING;
	else if (t->maps_epoch != w->space->epoch)
		w->end = END_STALE;
	else
		walk_along_path(r, t->slot, w);
	/* read again: were the tables rewritten under the walk? */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (w->nr && __atomic_load_n(&w->space->generation, __ATOMIC_RELAXED) - w->generation > 1) {
		__atomic_fetch_add(&r->nr_torn, 1, __ATOMIC_RELAXED);
		w->nr = 0;
		w->end = END_STALE;
	}
	if (w->end == END_NO_MAP || w->end == END_STALE)
		__atomic_store_n(&r->maps_wanted, 1, __ATOMIC_RELAXED);
	if (wants_snapshot(w->end) && !put_snapshot(r, t, w, uc))
		goto out;
	if (!w->nr)
		keep_leaf(w, uc);
	if (w->python)
		w->nr = agent_python_finish(w->python, w->frames, w->nr);
	note_broken(w);
	agent_put_sample(r, t, w);
out:
	if (agent_context_sp(uc) >= w->low && agent_context_sp(uc) < w->high) {
		s->stack_low = w->low;
		s->stack_high = w->high;
	}
}

/*
 * How much CPU time a sample stands for: the periods that have passed. A thread that lives for less
 * than a tick is met by a tick only now and then, so the first sample of a thread stands for at
 * least one tick. Where threads say at their end how wrong that was, the first sample of a later
 * thread corrects it.
 */
static __u64 weight_of(struct agent_region *r, const struct agent_taken *t, __s32 overrun)
{
	struct agent_slot *s = &r->slots[t->slot];
	/* On a CPU whose clock is a little behind, the kernel counts -1 more expiries. */
	__s64 ns = (__s64)(r->period_ns * (1 + (__u64)(overrun > 0 ? overrun : 0))), owed;

	if (!s->nr_samples && s->armed_ns)
		ns = (__s64)agent_first_weight(r, t->slot, t->tid, t->time_ns);
	else if (!s->nr_samples && ns < (__s64)r->tick_ns)
		ns = (__s64)r->tick_ns;
	s->weighed_ns += (__u64)ns;
	if (s->nr_samples || !s->pooled)
		return (__u64)ns;
	owed = __atomic_exchange_n(&r->pool_ns, 0, __ATOMIC_RELAXED);
	if (ns + owed < 1) {
		__atomic_fetch_add(&r->pool_ns, ns + owed - 1, __ATOMIC_RELAXED);
		return 1;
	}
	return (__u64)(ns + owed);
}

static void sample(struct agent_region *r, __u32 slot, __u64 now, __u32 scratch,
		   const struct agent_siginfo *info, const struct agent_ucontext *uc)
{
	__u64 owner = __atomic_load_n(&r->slots[slot].owner, __ATOMIC_ACQUIRE);
	struct agent_taken taken = {
		.slot = slot,
		.tid = (__s32)(owner >> 32),
		.time_ns = now,
		.cpu = (__u16)cpu_now(r),
		.maps_epoch = __atomic_load_n(&r->maps_epoch, __ATOMIC_ACQUIRE),
	};
	struct agent_walk w;

	if ((__u32)owner != SLOT_ARMED && (__u32)owner != SLOT_CLAIMED)
		return;
	taken.weight_ns = r->clock == AGENT_CLOCK_WALL ? agent_next_moment(r, &taken)
						       : weight_of(r, &taken, info->overrun);
	if (!taken.weight_ns)
		return;
	w.frames = r->scratch[scratch].frames;
	w.fresh = r->scratch[scratch].fresh;
	agent_read_regs(&w.regs, uc);
	if (agent_context_is_behind_syscall(uc)) {
		taken.in_kernel = 1;
		w.regs.exact = 0;
	}
	if (r->clock == AGENT_CLOCK_WALL) {
		__u64 *place = &r->clock_slots[slot].place, last = *place;

		*place = w.regs.pc + w.regs.sp;
		taken.is_again &= *place == last;
		agent_find_doing(r, &taken, uc);
	}
	walk(r, &taken, &w, uc, scratch);
	if (r->clock == AGENT_CLOCK_WALL)
		r->clock_slots[slot].done_ns = agent_now_ns(r);
}

static int is_orphaned(const struct agent_region *r, __u64 now)
{
	__s64 silent = (__s64)(now - __atomic_load_n(&r->heartbeat_ns, __ATOMIC_RELAXED));

	return r->heartbeat_limit_ns && silent > (__s64)r->heartbeat_limit_ns;
}

static void on_ours(struct agent_region *r, __u32 scratch, const struct agent_siginfo *info,
		    const struct agent_ucontext *uc)
{
	__u32 slot = (__u32)info->value;
	__u64 now = agent_now_ns(r);

	__atomic_fetch_add(&r->nr_signals, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&r->state, __ATOMIC_RELAXED) == AGENT_ON && is_orphaned(r, now))
		__atomic_store_n(&r->state, AGENT_ORPHANED, __ATOMIC_RELAXED);
	if (__atomic_load_n(&r->state, __ATOMIC_RELAXED) != AGENT_ON) {
		if (info->code == AGENT_SI_TIMER)
			agent_free_slot(r, slot);
		return;
	}
	if (__atomic_load_n(&r->mailbox, __ATOMIC_RELAXED))
		agent_serve_slots(r, SERVED_AT_ONCE);
	if (info->code == AGENT_SI_TIMER && slot == REGION_PROCESS_SLOT)
		slot = agent_slot_of_stranger(r);
	if (info->code == AGENT_SI_TIMER && slot < REGION_MAX_THREADS)
		sample(r, slot, now, scratch, info, uc);
}

/* Does with a signal what would have happened without us. */
static void on_foreign(struct agent_region *r, int signal, struct agent_siginfo *info,
		       struct agent_ucontext *uc)
{
	struct agent_sigaction action = { .handler = AGENT_SIG_DFL };
	long pid;

	if (!r || r->old_action.handler == AGENT_SIG_IGN)
		return;
	__atomic_fetch_add(&r->nr_foreign, 1, __ATOMIC_RELAXED);
	if (r->old_action.handler != AGENT_SIG_DFL) {
		void (*handler)(int, struct agent_siginfo *, struct agent_ucontext *) =
			(void *)r->old_action.handler;

		handler(signal, info, uc);
		return;
	}
	/* The default action is that this signal ends the process. */
	action.flags = AGENT_SA_RESTORER;
	action.restorer = (__u64)agent_restorer;
	agent_syscall4(__NR_rt_sigaction, signal, &action, 0, 8);
	pid = agent_syscall0(__NR_getpid);
	if (pid > 0) /* a filter may deny it with -1, which kill(2) takes for all processes */
		agent_syscall2(__NR_kill, pid, signal);
}

void agent_handler(int signal, struct agent_siginfo *info, struct agent_ucontext *uc)
{
	struct agent_region *r = agent_home();
	__u64 busy;
	__u32 bit;

	if (!r || (info->code != AGENT_SI_TIMER && info->code != AGENT_SI_QUEUE) ||
	    info->value >> 32 != r->cookie) {
		on_foreign(r, signal, info, uc);
		return;
	}
	busy = __atomic_load_n(&r->busy, __ATOMIC_RELAXED);
	do {
		if (busy == ~0ull) {
			__atomic_fetch_add(&r->nr_busy, 1, __ATOMIC_RELAXED);
			return;
		}
		bit = (__u32)__builtin_ctzll(~busy);
	} while (!__atomic_compare_exchange_n(&r->busy, &busy, busy | 1ull << bit, 1,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	on_ours(r, bit, info, uc);
	__atomic_fetch_and(&r->busy, ~(1ull << bit), __ATOMIC_RELEASE);
}
