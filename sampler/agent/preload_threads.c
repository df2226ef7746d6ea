/*
 * Threads that start while the program is sampled get their timers before their first instruction,
 * and lose them with their last. preload_create.c has each of them start in agent_thread_entry,
 * which calls agent_begin_thread() here.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/preload.h"
#include "sampler/agent/syscall.h"

#define CLOCK_THREAD_CPUTIME 3

/*
 * CPU time of this thread that its samples do not stand for. It is given to the stack of its last
 * sample or, if it had none, to the first sample of a later thread.
 */
static void account(struct agent_region *r, __u32 slot, __s32 tid)
{
	const struct agent_slot *s = &r->slots[slot];
	struct agent_timespec t = { 0, 0 };
	__s64 rest;

	agent_syscall2(__NR_clock_gettime, CLOCK_THREAD_CPUTIME, &t);
	rest = t.seconds * 1000000000 + t.nanoseconds - (__s64)s->weighed_ns;
	if (rest > 0 && s->nr_samples)
		agent_put_rest(r, slot, tid, agent_now_ns(r), (__u64)rest);
	else
		__atomic_fetch_add(&r->pool_ns, rest, __ATOMIC_RELAXED);
}

static void on_thread_exit(void *unused)
{
	struct agent_region *r = agent_hold();
	__s32 tid = (__s32)agent_syscall0(__NR_gettid);
	int slot;

	(void)unused;
	slot = r ? agent_slot_find(r, tid) : -1;
	if (slot >= 0) {
		if (r->slots[slot].pooled &&
		    __atomic_load_n(&r->state, __ATOMIC_RELAXED) == AGENT_ON)
			account(r, (__u32)slot, tid);
		agent_free_slot(r, (__u32)slot);
	}
	agent_let_go();
}

static void enter(struct agent_region *r)
{
	int slot;

	agent_unblock(r->signal);
	slot = agent_slot_claim(r, (__s32)agent_syscall0(__NR_gettid));
	if (slot >= 0)
		agent_serve_slot(r, (__u32)slot);
	else if (slot == -2)
		__atomic_fetch_add(&r->nr_no_slot, 1, __ATOMIC_RELAXED);
	if (__cxa_thread_atexit_impl &&
	    !__cxa_thread_atexit_impl(on_thread_exit, (void *)0, agent_own_handle()) && slot >= 0)
		r->slots[slot].pooled = r->clock == AGENT_CLOCK_CPU;
}

struct agent_thread agent_begin_thread(struct agent_start *start)
{
	const struct agent_thread thread = start->thread;
	struct agent_region *r = agent_hold();

	__atomic_store_n(&start->taken, 0, __ATOMIC_RELEASE);
	if (r && __atomic_load_n(&r->state, __ATOMIC_RELAXED) == AGENT_ON)
		enter(r);
	agent_let_go();
	return thread;
}
