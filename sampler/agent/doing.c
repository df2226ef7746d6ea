/*
 * What a thread did when its timer on the clock expired. The signal interrupts a system call that
 * waits, and the registers show that: the call is made again, or has returned EINTR. A thread that
 * had no CPU takes the signal late, and one that waits for a disk takes it at the end of its call.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define CLOCK_THREAD_CPUTIME 3
#define ERROR_EINTR (-4)
#define CODE_BYTES 32u /* of the code before a system call that are looked at */
#define PAGE 4096u
#define LATE_NS 200000u /* more than a signal takes to another CPU, less than a turn on one */

static __u64 own_cpu_ns(void)
{
	struct agent_timespec t = { 0, 0 };

	agent_syscall2(__NR_clock_gettime, CLOCK_THREAD_CPUTIME, &t);
	return (__u64)t.seconds * 1000000000u + (__u64)t.nanoseconds;
}

/* The number of the system call before the pc. Code need not be readable, so it is asked first. */
static __s32 call_behind(const struct agent_ucontext *uc)
{
	__u32 size = (__u32)((uc->pc - 1) & (PAGE - 1)) + 1; /* of the instruction's page */

	if (size > CODE_BYTES)
		size = CODE_BYTES;
	if (!agent_readable_pages((uc->pc - size) & ~(__u64)(PAGE - 1), 1))
		return -1;
	return agent_call_number((const __u8 *)(uc->pc - size), size);
}

/* For how long the signal waited; its timer may have expired several times meanwhile. */
static __u64 lateness(const struct agent_region *r, const struct agent_slot *s,
		      const struct agent_taken *t)
{
	__u64 more = t->weight_ns > r->period_ns ? t->weight_ns - r->period_ns : 0;

	/* The moment that was noted may be a little later than that of the first expiry. */
	return more + (t->time_ns + r->period_ns - s->expiry_ns) % r->period_ns;
}

void agent_find_doing(struct agent_region *r, struct agent_taken *t,
		      const struct agent_ucontext *uc)
{
	struct agent_slot *s = &r->slots[t->slot];
	__u64 late = lateness(r, s, t), cpu = own_cpu_ns(), ran = cpu - s->cpu_ns;
	__s64 result = agent_context_result(uc);

	s->cpu_ns = cpu;
	t->call = -1;
	if (agent_context_repeats_syscall(uc)) {
		t->doing = AGENT_WAITED;
		t->call = (__s32)result;
	} else if (t->in_kernel) {
		t->was_aborted = result == ERROR_EINTR;
		if (t->was_aborted)
			t->doing = AGENT_WAITED;
		else if (late > LATE_NS && ran < late / 2)
			t->doing = AGENT_WAITED_UNINTERRUPTED;
		if (t->doing)
			t->call = call_behind(uc);
	} else if (late > LATE_NS) {
		t->doing = AGENT_WAS_RUNNABLE;
	}
	t->args[0] = agent_context_argument(uc, 0);
	t->args[1] = agent_context_argument(uc, 1);
}
