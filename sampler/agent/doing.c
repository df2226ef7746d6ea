/*
 * What a thread did when its timer on the clock expired. The signal interrupts a system call that
 * waits, and the registers show that: the call is made again, or has returned EINTR. A thread that
 * had no CPU takes the signal late, and one that waits for a disk takes it at the end of its call.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define CLOCK_THREAD_CPUTIME 3
#define TIMER_ABSTIME 1
#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define MAX_SECONDS 1000000000ll /* more is for ever */
#define ERROR_EINTR (-4)
#define CODE_BYTES 32u /* of the code before a system call that are looked at */
#define PAGE 4096u
#define LATE_NS 200000u /* more than a signal takes to another CPU */
#define SOON_NS 50000u	/* less than another thread's turn on the CPU */
#define NR_OVER 4	/* periods by which samples may be wrong until that is forgotten */

static __u64 own_cpu_ns(void)
{
	struct agent_timespec t = { 0, 0 };

	agent_syscall2(__NR_clock_gettime, CLOCK_THREAD_CPUTIME, &t);
	return (__u64)t.seconds * NS_PER_S + (__u64)t.nanoseconds;
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

/* 0: there is no time at the address. */
static __u64 time_at(__u64 address)
{
	__u64 page = address & ~(__u64)(PAGE - 1),
	      last = address + sizeof(struct agent_timespec) - 1;
	__u32 nr = (last & ~(__u64)(PAGE - 1)) == page ? 1 : 2;
	const volatile struct agent_timespec *t = (const void *)address;
	__s64 seconds, nanoseconds;

	if (!address || address & 7 || agent_readable_pages(page, nr) < nr)
		return 0;
	seconds = t->seconds;
	nanoseconds = t->nanoseconds;
	if (seconds < 0 || seconds > MAX_SECONDS || nanoseconds < 0 ||
	    nanoseconds >= (__s64)NS_PER_S)
		return 0;
	return (__u64)seconds * NS_PER_S + (__u64)nanoseconds;
}

static __u64 less(__u64 ns, __u64 by)
{
	return ns > by ? ns - by : 0;
}

static __u64 until(int clock, __u64 end_ns)
{
	struct agent_timespec t = { 0, 0 };

	if (!end_ns || agent_syscall2(__NR_clock_gettime, clock, &t))
		return 0;
	return less(end_ns, (__u64)t.seconds * NS_PER_S + (__u64)t.nanoseconds);
}

/* The kernel writes what remained, if it was asked to. */
static __u64 sleep_rest(__u64 asked, __u64 rest, __u64 most_ns)
{
	return rest ? time_at(rest) : less(time_at(asked), most_ns);
}

/* The call has waited since the last sample, `most_ns`, or for a shorter time. */
static __u64 remaining(const struct agent_ucontext *uc, __s32 call, __u64 most_ns)
{
	int ms;

	switch (call) {
	case __NR_nanosleep:
		return sleep_rest(agent_context_argument(uc, 0), agent_context_argument(uc, 1),
				  most_ns);
	case __NR_clock_nanosleep:
		if (agent_context_argument(uc, 1) & TIMER_ABSTIME)
			return until((int)agent_context_argument(uc, 0),
				     time_at(agent_context_argument(uc, 2)));
		return sleep_rest(agent_context_argument(uc, 2), agent_context_argument(uc, 3),
				  most_ns);
#ifdef __NR_poll
	case __NR_poll: ms = (int)agent_context_argument(uc, 2); break;
	case __NR_epoll_wait:
#endif
	case __NR_epoll_pwait: ms = (int)agent_context_argument(uc, 3); break;
	default: return 0;
	}
	return ms > 0 ? less((__u64)ms * NS_PER_MS, most_ns) : 0;
}

/*
 * Had the thread lost its CPU when the timer expired? If it was switched to soon after that, the
 * signal is no later than it may be on the CPU. Then it had if its samples would stand for more CPU
 * time than it has used otherwise.
 */
static int was_runnable(const struct agent_clock_slot *c, __u64 late)
{
	return late > LATE_NS || (late > SOON_NS && c->over_ns > 0);
}

/* Adds up what the samples stand for and what the thread used. */
static void balance(const struct agent_region *r, struct agent_clock_slot *c,
		    const struct agent_taken *t, __u64 ran)
{
	__s64 most = (__s64)r->period_ns * NR_OVER;

	c->over_ns += (t->doing == AGENT_RAN ? (__s64)t->weight_ns : 0) - (__s64)ran;
	if (c->over_ns > most)
		c->over_ns = most;
	if (c->over_ns < -most)
		c->over_ns = -most;
}

void agent_find_doing(struct agent_region *r, struct agent_taken *t,
		      const struct agent_ucontext *uc)
{
	struct agent_clock_slot *c = &r->clock_slots[t->slot];
	__u64 late = t->late_ns, cpu = own_cpu_ns(), ran = cpu - c->cpu_ns;
	__s64 result = agent_context_result(uc);

	c->cpu_ns = cpu;
	t->call = -1;
	/* Again: the thread is where the last sample left it, which has told of the call. */
	if (!t->is_again && agent_context_repeats_syscall(uc)) {
		t->doing = AGENT_WAITED;
		t->call = (__s32)result;
	} else if (!t->is_again && t->in_kernel) {
		t->was_aborted = result == ERROR_EINTR;
		if (t->was_aborted)
			t->doing = AGENT_WAITED;
		else if (late > LATE_NS && ran < late / 2)
			t->doing = AGENT_WAITED_UNINTERRUPTED;
		if (t->doing)
			t->call = call_behind(uc);
		if (t->was_aborted)
			t->remaining_ns = remaining(uc, t->call, less(t->since_ns, ran));
	} else if (was_runnable(c, late)) {
		t->doing = AGENT_WAS_RUNNABLE;
	}
	balance(r, c, t, ran);
	t->args[0] = agent_context_argument(uc, 0);
	t->args[1] = agent_context_argument(uc, 1);
}
