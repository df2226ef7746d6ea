/*
 * libsprof.so: the in-target code as a library for LD_PRELOAD. Where the environment names a
 * recorder, the process joins it: at once if the recorder itself started it, else when it has used
 * CPU time for its first sample. So a child that ends before that costs two system calls.
 *
 * Where the environment names none the process sleeps: it has no timer, no thread and no
 * descriptor, only a handler for a signal that nothing else sends. A recorder sends it its name,
 * and the process joins. When the recording ends it sleeps again.
 *
 * Only the preload files call libc, and they call little of it.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/join.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/agent/preload.h"
#include "sampler/agent/syscall.h"

#define CLOCK_PROCESS_CPUTIME 2
#define SIGEV_SIGNAL 0
#define FIRST_SAMPLE 0x53505246u /* the upper half of si_value before there is a region */

static const char *read_number(const char *text, __u32 base, __u64 *ret)
{
	*ret = 0;
	for (;; text++) {
		__u32 digit = *text >= '0' && *text <= '9'   ? (__u32)(*text - '0')
			      : *text >= 'a' && *text <= 'f' ? (__u32)(*text - 'a' + 10)
							     : 16;

		if (digit >= base)
			return *text == ':' ? text + 1 : text;
		*ret = *ret * base + digit;
	}
}

static int read_environment(void)
{
	const char *text = secure_getenv(RENDEZVOUS_VARIABLE);
	__u64 recorder;

	if (!text)
		return 0;
	text = read_number(text, 16, &agent_own.name);
	text = read_number(text, 10, &recorder);
	text = read_number(text, 10, &agent_own.period_ns);
	read_number(text, 10, &agent_own.tick_ns);
	agent_own.recorder = (__s32)recorder;
	return agent_own.name && agent_own.period_ns >= 1000;
}

/* Has the recording ended, by its state or because the recorder has been silent for too long? */
static int is_over(const struct agent_region *r)
{
	__s64 silent;

	if (__atomic_load_n(&r->state, __ATOMIC_RELAXED) != AGENT_ON)
		return 1;
	silent = (__s64)(agent_now_ns(r) - __atomic_load_n(&r->heartbeat_ns, __ATOMIC_RELAXED));
	return r->heartbeat_limit_ns && silent > (__s64)r->heartbeat_limit_ns;
}

/* 0 or -errno. */
static long join(void)
{
	struct agent_region *r;
	__s32 tid = (__s32)agent_syscall0(__NR_gettid);
	long err = agent_join(agent_own.name, &r);
	int slot;

	if (err)
		return err;
	if (r->magic != REGION_MAGIC || r->version != REGION_VERSION) {
		agent_leave(r);
		return -71; /* EPROTO */
	}
	/* The handler, on_signal(), is installed already and stays. */
	r->signal = agent_own.signal;
	r->old_action.handler = AGENT_SIG_IGN;
	r->state = AGENT_ON;
	agent_own.period_ns = r->period_ns;
	agent_own.tick_ns = r->tick_ns;
	agent_unblock(agent_own.signal);
	slot = agent_slot_claim(r, tid);
	if (slot >= 0)
		__atomic_fetch_or(&r->pending[slot / 64], 1ull << slot % 64, __ATOMIC_RELAXED);
	__atomic_store_n(&r->installed, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&agent_own.home->region, r, __ATOMIC_SEQ_CST);
	agent_enter(r, AGENT_ARM);
	return 0;
}

/* Joins once; other threads do not wait for it. */
static void join_once(void)
{
	__u32 before = NOT_JOINED;

	if (!__atomic_compare_exchange_n(&agent_own.home->joining, &before, IS_JOINING, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	join();
	__atomic_store_n(&agent_own.home->joining, HAS_JOINED, __ATOMIC_RELEASE);
}

struct agent_start *agent_take_start(void)
{
	struct agent_region *r;
	int is_on;

	if (!agent_own.home)
		return (void *)0;
	/* A process that makes threads is not one of the many that end at once: it joins now. */
	if (!agent_home() && __atomic_load_n(&agent_own.name, __ATOMIC_RELAXED))
		join_once();
	r = agent_hold();
	is_on = r && __atomic_load_n(&r->state, __ATOMIC_RELAXED) == AGENT_ON;
	agent_let_go();
	if (!is_on)
		return (void *)0;
	for (__u32 i = 0; i < NR_STARTS; i++) {
		struct agent_start *s = &agent_own.home->starts[i];

		if (!__atomic_load_n(&s->taken, __ATOMIC_RELAXED) &&
		    !__atomic_exchange_n(&s->taken, 1, __ATOMIC_ACQUIRE))
			return s;
	}
	return (void *)0;
}

void *agent_own_handle(void)
{
	return &agent_own;
}

void agent_settle(void)
{
	agent_ask_to_settle(agent_own.name);
}

static int is_of(const struct agent_region *r, const struct agent_siginfo *info)
{
	return (info->code == AGENT_SI_TIMER || info->code == AGENT_SI_QUEUE) &&
	       info->value >> 32 == r->cookie;
}

/* Takes a sample, or sees that the recording is over. */
static void on_timer(struct agent_region *r, int signal, struct agent_siginfo *info,
		     struct agent_ucontext *uc)
{
	__u32 state;

	agent_handler(signal, info, uc);
	state = __atomic_load_n(&r->state, __ATOMIC_RELAXED);
	if (state == AGENT_OFF)
		agent_retire(r);
	else if (state == AGENT_ORPHANED)
		/* those of threads that sleep too; the recorder may be heard of again */
		agent_free_slots(r);
}

/* The first signal of a process that has not joined yet. */
static void on_first(int signal, struct agent_siginfo *info, struct agent_ucontext *uc)
{
	struct agent_region *r;
	int slot;

	agent_syscall1(__NR_timer_delete, agent_own.home->timer);
	join_once();
	r = agent_hold();
	slot = r ? agent_slot_find(r, (__s32)agent_syscall0(__NR_gettid)) : -1;
	if (slot >= 0) {
		/* This signal stands for a sample like any other. */
		info->value = agent_signal_value(r->cookie, (__u32)slot);
		agent_handler(signal, info, uc);
	}
	agent_let_go();
}

static void on_signal(int signal, struct agent_siginfo *info, struct agent_ucontext *uc)
{
	struct agent_region *r = agent_hold();
	int ours = r && is_of(r, info);

	if (ours)
		on_timer(r, signal, info, uc);
	agent_let_go();
	if (ours)
		return;
	if (info->code == AGENT_SI_TIMER && info->value >> 32 == FIRST_SAMPLE && agent_own.home)
		on_first(signal, info, uc);
	else
		agent_pass_on(signal, info, uc);
}

static int install_handler(void)
{
	const struct agent_sigaction action = {
		.handler = (__u64)on_signal,
		.flags = AGENT_SA_SIGINFO | AGENT_SA_RESTART | AGENT_SA_ONSTACK | AGENT_SA_RESTORER,
		.restorer = (__u64)agent_restorer,
		.mask = ~0ull,
	};
	int signal = agent_free_signal();

	if (!signal || agent_syscall4(__NR_rt_sigaction, signal, &action, 0, 8))
		return 0;
	agent_own.signal = signal;
	return 1;
}

/* Is there another recorder, and does it live? The region of one that does not is retired. */
static int is_taken(void)
{
	struct agent_region *r = agent_hold();
	int taken = r && !is_over(r);

	if (r && !taken)
		agent_retire(r);
	agent_let_go();
	/*
	 * not unmapped yet: a thread is still at work in it, so its recorder was there a moment ago
	 */
	return taken || __atomic_load_n(&agent_own.home->retired, __ATOMIC_SEQ_CST);
}

static void wake(__u64 name)
{
	__u32 was = __atomic_exchange_n(&agent_own.home->joining, IS_JOINING, __ATOMIC_ACQ_REL);

	if (was == IS_JOINING)
		return;
	if (is_taken()) {
		if (name != RENDEZVOUS_SLEEP_AGAIN)
			agent_say_busy(name);
	} else if (name == RENDEZVOUS_SLEEP_AGAIN) {
		/* it sleeps already, or is_taken() has just put it to sleep */
	} else if (agent_own.signal || install_handler()) {
		__atomic_store_n(&agent_own.name, name, __ATOMIC_RELAXED);
		if (join())
			__atomic_store_n(&agent_own.name, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&agent_own.home->joining, HAS_JOINED, __ATOMIC_RELEASE);
}

/*
 * Sets a timer for the first tick that meets the process, whichever thread that is: weight_of() in
 * handler.c.
 */
static void wait_for_first_sample(void)
{
	struct agent_event event = {
		.value = (__u64)FIRST_SAMPLE << 32,
		.signal = agent_own.signal,
		.notify = SIGEV_SIGNAL,
	};
	__u64 pid = (__u64)agent_syscall0(__NR_getpid);
	__u64 ns = 1 + (pid * 0x9fb21c651e98df25ull >> 20) % agent_own.period_ns;
	struct agent_timer_times times = { .value = { 0, 1 } };

	agent_unblock(agent_own.signal);
	if (agent_own.period_ns > agent_own.tick_ns)
		times.value = (struct agent_timespec){ (__s64)(ns / 1000000000),
						       (__s64)(ns % 1000000000) };
	if (!agent_syscall3(__NR_timer_create, CLOCK_PROCESS_CPUTIME, &event,
			    &agent_own.home->timer))
		agent_syscall4(__NR_timer_settime, agent_own.home->timer, 0, &times, 0);
}

static void in_child(void)
{
	/* Before Linux 4.14 the page was copied, not emptied. */
	agent_own.home->region = agent_own.home->retired = (void *)0;
	agent_own.home->inside = agent_own.home->joining = 0;
	if (agent_own.signal && agent_own.name)
		wait_for_first_sample();
}

static __attribute__((constructor)) void start(void)
{
	int named = read_environment();

	if (!named)
		agent_own.name = 0;
	if (!agent_make_home())
		return;
	agent_find_signal_functions();
	if (__register_atfork)
		__register_atfork((void *)0, (void *)0, in_child, (void *)0);
	agent_listen(wake);
	if (!named || !install_handler())
		return;
	if (agent_syscall0(__NR_getppid) == agent_own.recorder)
		join_once();
	else
		wait_for_first_sample();
}
