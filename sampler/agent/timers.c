/*
 * A timer per thread, on that thread's CPU clock: it expires only while the thread runs, and its
 * signal goes to that thread. With AGENT_CLOCK_WALL it is on the clock, and each sample sets it
 * anew. Any thread of a process may make and delete the timers of the others, so whichever handler
 * runs next does what the slots ask for.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define SIGEV_THREAD_ID 4
#define SIGEV_SIGNAL 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME 2
#define CPU_CLOCK_OF_THREAD 6 /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of the kernel */
#define TIMER_ABSTIME 1
#define LN2 2977044472u /* times 2^32 */
#define LN_TERMS 20	/* of the series below; each adds a bit or more */
#define LN_BITS 20	/* of a fraction */
#define NR_EVENED 16	/* samples over which weights make up for what is owed */
#define NR_WORDS (REGION_MAX_THREADS / 64)

__u64 agent_now_ns(const struct agent_region *r)
{
	long (*clock_gettime)(long, struct agent_timespec *) = (void *)r->clock_gettime;
	struct agent_timespec t = { 0, 0 };

	if (!clock_gettime || clock_gettime(CLOCK_MONOTONIC, &t))
		agent_syscall2(__NR_clock_gettime, CLOCK_MONOTONIC, &t);
	return (__u64)t.seconds * 1000000000u + (__u64)t.nanoseconds;
}

/* The id of a thread's CPU clock. */
static __s32 clock_of(__s32 tid)
{
	return (__s32)(~(__u32)tid << 3 | CPU_CLOCK_OF_THREAD);
}

static __u64 ns_of(__s32 clock)
{
	struct agent_timespec t = { 0, 0 };

	agent_syscall2(__NR_clock_gettime, clock, &t);
	return (__u64)t.seconds * 1000000000u + (__u64)t.nanoseconds;
}

static struct agent_timespec timespec_of(__u64 ns)
{
	return (struct agent_timespec){ (__s64)(ns / 1000000000), (__s64)(ns % 1000000000) };
}

/* A random number that is another one for each thread and each `nr`. */
static __u64 draw(const struct agent_region *r, __s32 tid, __u64 nr)
{
	__u64 x = ((__u64)r->cookie << 32 | (__u32)tid) ^ nr * 0x9e3779b97f4a7c15ull;

	x *= 0x9fb21c651e98df25ull;
	x = (x ^ x >> 28) * 0x9fb21c651e98df25ull;
	return x ^ x >> 32;
}

/*
 * A moment in the first period, spread evenly over threads, so that the time that is missed at a
 * thread's end is made up for on average.
 */
static __u64 phase_of(const struct agent_region *r, __s32 tid)
{
	return (draw(r, tid, 0) >> 16) % r->period_ns + 1;
}

/*
 * The negative logarithm of a random number u from 0 to 1, times 2^LN_BITS. Half of all u are above
 * 1/2, a quarter between 1/4 and 1/2, and so on: u is a power of 1/2 times 1 - y, where y is from 0
 * to 1/2, and -ln(1 - y) = y + y^2/2 + y^3/3 ...
 */
static __u64 minus_ln(__u64 random)
{
	__u64 y = random >> 33, power = y, sum = 0;
	__u32 halvings = (__u32)random ? (__u32)__builtin_clz((__u32)random) : 32;

	for (__u32 i = 1; i <= LN_TERMS; i++) {
		sum += power / i;
		power = power * y >> 32;
	}
	return (halvings * (__u64)LN2 + sum) >> (32 - LN_BITS);
}

/*
 * Sets the next moment at which a thread is sampled by the clock. Samples end sleeps, so what a
 * program does depends on when its last sample was. Only where that says nothing of when the next
 * comes, samples meet each part of the program as often as that part lasts: the time between them
 * is exponentially distributed (Wolff, "Poisson arrivals see time averages", 1982).
 */
static void choose_moment(const struct agent_region *r, struct agent_clock_slot *c, __s32 tid,
			  __u64 now)
{
	c->last_ns = now;
	c->expiry_ns = now + (r->period_ns * minus_ln(draw(r, tid, now)) >> LN_BITS) + 1;
}

static __u64 less(__u64 ns, __u64 by)
{
	return ns > by ? ns - by : 1;
}

/*
 * When a thread is first sampled, on its own clock: at the first tick that it meets, and
 * agent_first_weight() goes on from there. Where the slot asks for a delay, half a tick before its
 * phase, because the kernel is half a tick late on average.
 */
static __u64 first_expiry(struct agent_region *r, __u32 slot, __s32 tid)
{
	struct agent_slot *s = &r->slots[slot];
	__u64 phase = less(phase_of(r, tid), r->tick_ns / 2),
	      delay = __atomic_load_n(&s->delay_ns, __ATOMIC_RELAXED);
	struct agent_clock_slot *c = &r->clock_slots[slot];

	if (r->clock == AGENT_CLOCK_WALL) {
		choose_moment(r, c, tid, agent_now_ns(r));
		c->told_ns = c->last_ns;
		c->cpu_ns = c->done_ns = 0;
		c->over_ns = 0;
		return c->expiry_ns + delay;
	}
	if (r->tick_ns > r->period_ns)
		return delay ? delay : 1;
	if (!r->tick_ns || delay)
		return phase > delay ? phase : delay;
	s->armed_cpu_ns = ns_of(clock_of(tid));
	s->armed_ns = ns_of(CLOCK_MONOTONIC);
	return 1;
}

/* `first` is a moment of a timer on the clock, and CPU time from now on of another. */
static long set_timer(const struct agent_region *r, __s32 timer, __u64 first)
{
	struct agent_timer_times times = { timespec_of(r->period_ns), timespec_of(first) };

	return agent_syscall4(__NR_timer_settime, timer,
			      r->clock == AGENT_CLOCK_WALL ? TIMER_ABSTIME : 0, &times, 0);
}

__u64 agent_first_weight(struct agent_region *r, __u32 slot, __s32 tid, __u64 now)
{
	struct agent_slot *s = &r->slots[slot];
	__u64 ran = ns_of(clock_of(tid)) - s->armed_cpu_ns, due = phase_of(r, tid), nr = 0;

	/*
	 * A thread that never sleeps met the tick half a tick after it was armed, on average, not a
	 * whole one.
	 */
	if (ran + ran / 8 >= now - s->armed_ns)
		due += r->tick_ns / 2;
	if (ran >= due)
		nr = (ran - due) / r->period_ns + 1;
	set_timer(r, s->timer, due + nr * r->period_ns - ran);
	s->armed_ns = s->weighed_ns = 0;
	return r->tick_ns + nr * r->period_ns;
}

__u64 agent_next_moment(struct agent_region *r, struct agent_taken *t)
{
	struct agent_clock_slot *c = &r->clock_slots[t->slot];
	__s64 owed = (__s64)(c->last_ns - c->told_ns), most = (__s64)r->period_ns * NR_EVENED / 2;
	__u64 weight;

	if (t->time_ns < c->expiry_ns)
		return 0;
	owed = owed > most ? most : owed < -most ? -most : owed;
	t->late_ns = t->time_ns - c->expiry_ns;
	t->since_ns = t->time_ns - c->last_ns;
	t->is_again = c->expiry_ns <= c->done_ns; /* or the kernel's timer was late */
	weight = (__u64)((__s64)r->period_ns + owed / NR_EVENED) + t->late_ns;
	c->told_ns += weight;
	choose_moment(r, c, t->tid, t->time_ns);
	set_timer(r, r->slots[t->slot].timer, c->expiry_ns);
	return weight;
}

/* 0 or -errno, and *ret_timer is -1. */
static long make_timer(struct agent_region *r, __u32 slot, __s32 tid, __s32 *ret_timer)
{
	struct agent_event event = {
		.value = agent_signal_value(r->cookie, slot),
		.signal = r->signal,
		.notify = SIGEV_THREAD_ID,
		.tid = tid,
	};
	__u64 first = first_expiry(r, slot, tid);
	long clock = r->clock == AGENT_CLOCK_WALL ? CLOCK_MONOTONIC : clock_of(tid);
	__s32 timer = -1;
	long err = agent_syscall3(__NR_timer_create, clock, &event, &timer);

	*ret_timer = -1;
	if (err)
		return err;
	err = set_timer(r, timer, first);
	if (err)
		agent_syscall1(__NR_timer_delete, timer);
	else
		*ret_timer = timer;
	return err;
}

static int claim(struct agent_slot *s, __u64 owner)
{
	return __atomic_compare_exchange_n(&s->owner, &owner,
					   agent_owner((__s32)(owner >> 32), SLOT_CLAIMED), 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void arm(struct agent_region *r, __u32 slot, __s32 tid)
{
	struct agent_slot *s = &r->slots[slot];
	__u32 state = SLOT_ARMED;
	long err;

	s->stack_low = s->stack_high = 0;
	s->nr_samples = s->pooled = 0;
	s->weighed_ns = s->armed_ns = 0;
	err = make_timer(r, slot, tid, &s->timer);
	s->delay_ns = 0;
	s->error = (__s32)-err;
	if (err == -22 || err == -3) { /* EINVAL or ESRCH: the thread has ended */
		__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
		return;
	}
	if (err) {
		__atomic_fetch_add(&r->nr_no_timer, 1, __ATOMIC_RELAXED);
		state = SLOT_FAILED;
	}
	__atomic_store_n(&s->owner, agent_owner(tid, state), __ATOMIC_RELEASE);
}

static void release(struct agent_slot *s)
{
	if (s->timer >= 0)
		agent_syscall1(__NR_timer_delete, s->timer);
	s->timer = -1;
	__atomic_store_n(&s->owner, 0, __ATOMIC_RELEASE);
}

void agent_serve_slot(struct agent_region *r, __u32 slot)
{
	struct agent_slot *s = &r->slots[slot];
	__u64 owner = __atomic_load_n(&s->owner, __ATOMIC_ACQUIRE);
	__u32 state = (__u32)owner;

	if ((state != SLOT_WANTED && state != SLOT_UNWANTED) || !claim(s, owner))
		return;
	if (state == SLOT_WANTED)
		arm(r, slot, (__s32)(owner >> 32));
	else
		release(s);
}

/*
 * Threads that end before the recorder sees them have no timer. A timer on the CPU time of the
 * process meets whichever thread runs when a period is over, and its signal goes to that thread
 * (from Linux 6.4 on; before, to the first thread). A thread that has a timer of its own ignores
 * it.
 */
static void make_process_timer(struct agent_region *r)
{
	struct agent_event event = {
		.value = agent_signal_value(r->cookie, REGION_PROCESS_SLOT),
		.signal = r->signal,
		.notify = SIGEV_SIGNAL,
	};
	struct agent_timer_times times = { timespec_of(r->period_ns), timespec_of(r->period_ns) };
	__s32 timer = -1, none = 0;

	if (!__atomic_load_n(&r->process_wanted, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&r->process_timer, &none, -1, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	if (agent_syscall3(__NR_timer_create, CLOCK_PROCESS_CPUTIME, &event, &timer)) {
		__atomic_store_n(&r->process_wanted, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&r->process_timer, 0, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&r->process_timer, timer + 1, __ATOMIC_RELEASE);
	agent_syscall4(__NR_timer_settime, timer, 0, &times, 0);
}

static void free_process_timer(struct agent_region *r)
{
	__s32 timer = __atomic_load_n(&r->process_timer, __ATOMIC_ACQUIRE);

	if (timer > 0 && __atomic_compare_exchange_n(&r->process_timer, &timer, 0, 0,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		agent_syscall1(__NR_timer_delete, timer - 1);
}

__u32 agent_slot_of_stranger(struct agent_region *r)
{
	__s32 tid = (__s32)agent_syscall0(__NR_gettid);
	int slot = agent_slot_claim(r, tid);

	if (slot < 0)
		return REGION_MAX_THREADS;
	/* The thread has run before: its first sample weighs no more than a period. */
	__atomic_store_n(&r->slots[slot].delay_ns, 1, __ATOMIC_RELAXED);
	agent_serve_slot(r, (__u32)slot);
	r->slots[slot].nr_samples = 1;
	return (__u32)slot;
}

void agent_free_slot(struct agent_region *r, __u32 slot)
{
	struct agent_slot *s = &r->slots[slot % REGION_MAX_THREADS];
	__u64 owner;

	if (slot >= REGION_MAX_THREADS) {
		free_process_timer(r);
		return;
	}
	owner = __atomic_load_n(&s->owner, __ATOMIC_ACQUIRE);
	if (owner && (__u32)owner != SLOT_CLAIMED && claim(s, owner)) {
		if ((__u32)owner == SLOT_WANTED)
			s->timer = -1;
		release(s);
	}
}

/* A slot that a handler is at work on stays marked as used: it may get a timer in a moment. */
void agent_free_slots(struct agent_region *r)
{
	free_process_timer(r);
	for (__u32 i = 0; i < NR_WORDS; i++) {
		__u64 bits, left = 0;

		if (!__atomic_load_n(&r->used[i], __ATOMIC_RELAXED))
			continue;
		bits = __atomic_exchange_n(&r->used[i], 0, __ATOMIC_ACQ_REL);
		for (; bits; bits &= bits - 1) {
			__u32 slot = i * 64 + (__u32)__builtin_ctzll(bits);

			agent_free_slot(r, slot);
			if (__atomic_load_n(&r->slots[slot].owner, __ATOMIC_ACQUIRE))
				left |= bits & -bits;
		}
		if (left)
			__atomic_fetch_or(&r->used[i], left, __ATOMIC_RELAXED);
	}
}

void agent_serve_slots(struct agent_region *r, __u32 budget)
{
	if (!__atomic_exchange_n(&r->mailbox, 0, __ATOMIC_ACQUIRE))
		return;
	make_process_timer(r);
	for (__u32 i = 0; i < NR_WORDS; i++) {
		__u64 bits = __atomic_load_n(&r->pending[i], __ATOMIC_RELAXED);

		if (!bits)
			continue;
		if (!budget) {
			__atomic_store_n(&r->mailbox, 1, __ATOMIC_RELEASE);
			return;
		}
		bits = __atomic_exchange_n(&r->pending[i], 0, __ATOMIC_ACQUIRE);
		for (; bits; bits &= bits - 1) {
			agent_serve_slot(r, i * 64 + (__u32)__builtin_ctzll(bits));
			budget -= budget > 0;
		}
	}
}
