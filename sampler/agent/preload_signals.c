/*
 * The program's own signal handling, as far as it meets our signal: a program that gives every signal
 * the default action would be ended by its next sample, and one that blocks them all in some thread
 * would not be sampled there. What it says about our number is remembered and told back; what is
 * queued to that number goes to its handler.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/preload.h"
#include "sampler/agent/syscall.h"

#define EINVAL 22
#define SIG_UNBLOCK 1
#define SIG_ERROR ((void (*)(int)) - 1)

/* struct sigaction and sigset_t of glibc and musl on x86-64. */
struct libc_set {
	__u64 words[16];
};

struct libc_action {
	void (*handler)(int);
	struct libc_set mask;
	__s32 flags, pad;
	void (*restorer)(void);
};
_Static_assert(sizeof(struct libc_action) == 152, "libc's");

static struct {
	int (*action)(int, const void *, void *);
	void (*(*signal)(int, void (*)(int)))(int);
	int (*process_mask)(int, const void *, void *);
	int (*thread_mask)(int, const void *, void *);
} next;

/* What the program believes to be the action of our signal. */
static struct libc_action believed;

void agent_find_signal_functions(void)
{
	next.action = agent_next_function("sigaction");
	next.signal = agent_next_function("signal");
	next.process_mask = agent_next_function("sigprocmask");
	next.thread_mask = agent_next_function("pthread_sigmask");
}

/* A library before us in the order of constructors may have come here first. */
static void be_ready(void)
{
	if (!next.action)
		agent_find_signal_functions();
}

void agent_pass_on(int number, struct agent_siginfo *info, struct agent_ucontext *uc)
{
	void (*handler)(int, struct agent_siginfo *, struct agent_ucontext *) =
		(void *)believed.handler;

	if ((__u64)handler > AGENT_SIG_IGN)
		handler(number, info, uc);
}

int sigaction(int signal, const void *action, void *old)
{
	struct libc_action was;

	be_ready();
	if (!signal || signal != agent_own_signal())
		return next.action ? next.action(signal, action, old) : -1;
	__builtin_memcpy(&was, &believed, sizeof(was));
	if (action)
		__builtin_memcpy(&believed, action, sizeof(believed));
	if (old)
		__builtin_memcpy(old, &was, sizeof(was));
	return 0;
}

void (*signal(int number, void (*handler)(int)))(int)
{
	struct libc_action action = { .handler = handler };
	void (*was)(int) = believed.handler;

	be_ready();
	if (!number || number != agent_own_signal())
		return next.signal ? next.signal(number, handler) : SIG_ERROR;
	__builtin_memcpy(&believed, &action, sizeof(believed));
	return was;
}

void agent_unblock(int number)
{
	__u64 set = 1ull << (number - 1);

	agent_syscall4(__NR_rt_sigprocmask, SIG_UNBLOCK, &set, 0, 8);
}

/* A set without our signal, where it is one to be blocked. */
static const void *without_ours(int how, const void *set, struct libc_set *copy)
{
	int ours = agent_own_signal();

	if (!set || !ours || how == SIG_UNBLOCK)
		return set;
	__builtin_memcpy(copy, set, sizeof(*copy));
	copy->words[0] &= ~(1ull << (ours - 1));
	return copy;
}

int sigprocmask(int how, const void *set, void *old)
{
	struct libc_set copy;

	be_ready();
	return next.process_mask ? next.process_mask(how, without_ours(how, set, &copy), old) : -1;
}

int pthread_sigmask(int how, const void *set, void *old)
{
	struct libc_set copy;

	be_ready();
	return next.thread_mask ? next.thread_mask(how, without_ours(how, set, &copy), old)
				: EINVAL;
}
