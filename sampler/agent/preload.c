/*
 * libsprof.so: the in-target code as a library for LD_PRELOAD. Where the environment names a recorder
 * the process joins it: at once if the recorder itself started it, else when it has used CPU time for
 * its first sample. So a child that ends before that costs two system calls.
 *
 * This is the one file that sees libc, and it asks for next to nothing of it.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/join.h"
#include "sampler/agent/meeting.h"
#include "sampler/agent/preload.h"
#include "sampler/agent/syscall.h"

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE_ANONYMOUS 0x22
#define MADV_WIPEONFORK 18
#define CLOCK_PROCESS_CPUTIME 2
#define SIGEV_SIGNAL 0
#define HOME_SIZE 8192
#define NR_STARTS 256		 /* threads that are being created at once */
#define FIRST_SAMPLE 0x53505246u /* the upper half of si_value before there is a region */

/* What a child that was forked finds empty: its parent's region is not mapped there. */
struct home {
	struct agent_region *region;
	__u32 joining; /* somebody is at it */
	__s32 timer;
	struct agent_start starts[NR_STARTS];
};
_Static_assert(sizeof(struct home) <= HOME_SIZE, "what is mapped");

/* What it keeps. Written before there is a second thread, or in a child that has one alone. */
static struct {
	struct home *home;
	__u64 name, period_ns, tick_ns;
	__s32 recorder;
	__s32 signal; /* 0: none was free */
} own;

struct agent_region *agent_home(void)
{
	return own.home ? __atomic_load_n(&own.home->region, __ATOMIC_ACQUIRE) : (void *)0;
}

/* ---- the environment's words */

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
	const char *text = secure_getenv(MEETING_VARIABLE);
	__u64 recorder;

	if (!text)
		return 0;
	text = read_number(text, 16, &own.name);
	text = read_number(text, 10, &recorder);
	text = read_number(text, 10, &own.period_ns);
	read_number(text, 10, &own.tick_ns);
	own.recorder = (__s32)recorder;
	return own.name && own.period_ns >= 1000;
}

static int make_home(void)
{
	long page = agent_syscall6(__NR_mmap, 0, HOME_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE_ANONYMOUS, -1, 0);

	if (page < 0 && page > -4096)
		return 0;
	own.home = (struct home *)page;
	/* Where the kernel cannot (before 4.14), only a child that comes by fork(3) is told. */
	agent_syscall3(__NR_madvise, page, HOME_SIZE, MADV_WIPEONFORK);
	return 1;
}

/* ---- joining */

static void join(void)
{
	struct agent_region *r;
	__s32 tid = (__s32)agent_syscall0(__NR_gettid);
	int slot;

	if (agent_join(own.name, &r))
		return;
	if (r->magic != REGION_MAGIC || r->version != REGION_VERSION) {
		agent_leave(r);
		return;
	}
	r->signal = own.signal;
	agent_unblock(own.signal);
	slot = agent_slot_claim(r, tid);
	if (slot >= 0)
		__atomic_fetch_or(&r->pending[slot / 64], 1ull << slot % 64, __ATOMIC_RELAXED);
	__atomic_store_n(&own.home->region, r, __ATOMIC_RELEASE);
	agent_enter(r, AGENT_INSTALL | AGENT_ARM);
}

/* Once, whoever is first. */
static void join_once(void)
{
	if (!__atomic_exchange_n(&own.home->joining, 1, __ATOMIC_ACQ_REL))
		join();
}

/* ---- what the other files ask */

struct agent_start *agent_take_start(void)
{
	struct agent_region *r;

	if (!own.home)
		return (void *)0;
	/* A process that makes threads is none of the many that are over at once. */
	if (!agent_home() && own.name)
		join_once();
	r = agent_home();
	if (!r || __atomic_load_n(&r->state, __ATOMIC_RELAXED) != AGENT_ON)
		return (void *)0;
	for (__u32 i = 0; i < NR_STARTS; i++) {
		struct agent_start *s = &own.home->starts[i];

		if (!__atomic_load_n(&s->taken, __ATOMIC_RELAXED) &&
		    !__atomic_exchange_n(&s->taken, 1, __ATOMIC_ACQUIRE))
			return s;
	}
	return (void *)0;
}

int agent_own_signal(void)
{
	return own.signal;
}

void *agent_own_handle(void)
{
	return &own;
}

void agent_settle(void)
{
	agent_ask_to_settle(own.name);
}

/* ---- the first sample */

/* The first signal of a process that has not joined yet, on the signal that will stay ours. */
static void first_handler(int signal, struct agent_siginfo *info, struct agent_ucontext *uc)
{
	struct agent_region *r;
	int slot;

	if (info->code != AGENT_SI_TIMER || info->value >> 32 != FIRST_SAMPLE || !own.home) {
		agent_pass_on(signal, info, uc);
		return;
	}
	agent_syscall1(__NR_timer_delete, own.home->timer);
	join_once();
	r = agent_home();
	if (!r)
		return;
	slot = agent_slot_find(r, (__s32)agent_syscall0(__NR_gettid));
	if (slot < 0)
		return;
	/* What this signal stands for is a sample like any other. */
	info->value = agent_signal_value(r->cookie, (__u32)slot);
	agent_handler(signal, info, uc);
}

static int install_first_handler(void)
{
	const struct agent_sigaction action = {
		.handler = (__u64)first_handler,
		.flags = AGENT_SA_SIGINFO | AGENT_SA_RESTART | AGENT_SA_ONSTACK | AGENT_SA_RESTORER,
		.restorer = (__u64)agent_restorer,
		.mask = ~0ull,
	};

	if (!own.signal)
		own.signal = agent_free_signal();
	return own.signal && !agent_syscall4(__NR_rt_sigaction, own.signal, &action, 0, 8);
}

/* At the first tick that meets the process, whichever thread it meets: weight_of() in handler.c. */
static void wait_for_first_sample(void)
{
	struct agent_event event = {
		.value = (__u64)FIRST_SAMPLE << 32,
		.signal = own.signal,
		.notify = SIGEV_SIGNAL,
	};
	__u64 pid = (__u64)agent_syscall0(__NR_getpid);
	__u64 ns = 1 + (pid * 0x9fb21c651e98df25ull >> 20) % own.period_ns;
	struct agent_timer_times times = { .value = { 0, 1 } };

	agent_unblock(own.signal);
	if (own.period_ns > own.tick_ns)
		times.value = (struct agent_timespec){ (__s64)(ns / 1000000000),
						       (__s64)(ns % 1000000000) };
	if (!agent_syscall3(__NR_timer_create, CLOCK_PROCESS_CPUTIME, &event, &own.home->timer))
		agent_syscall4(__NR_timer_settime, own.home->timer, 0, &times, 0);
}

static void in_child(void)
{
	own.home->region = (void *)0;
	own.home->joining = 0;
	if (own.signal && install_first_handler())
		wait_for_first_sample();
}

static __attribute__((constructor)) void start(void)
{
	if (!read_environment() || !make_home() || !install_first_handler())
		return;
	agent_find_signal_functions();
	if (__register_atfork)
		__register_atfork((void *)0, (void *)0, in_child, (void *)0);
	if (agent_syscall0(__NR_getppid) == own.recorder)
		join_once();
	else
		wait_for_first_sample();
}
