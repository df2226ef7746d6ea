/*
 * The program's own signal handling where it concerns our signal: a program that gives every signal
 * the default action would be ended by its next sample, and one that blocks all signals in some
 * thread would not be sampled there. What it sets for our number is remembered and told back; a
 * signal that another process queues to that number goes to its handler.
 *
 * The signal that wakes is different: missing it does no harm. A program that sets a handler for it
 * gets it, and cannot be woken from then on.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/rendezvous.h"
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

/* What the program has set as the action of our signal. */
static struct libc_action believed;

/* The same for the signal that wakes, as long as its handler is ours. */
static struct libc_action believed_wake;
static int listening;
static void (*wake)(__u64 value);

static void on_wake(int number, struct agent_siginfo *info, struct agent_ucontext *uc)
{
	(void)number;
	(void)uc;
	if (info->code == AGENT_SI_QUEUE && info->value)
		wake(info->value);
}

void agent_listen(void (*on_value)(__u64 value))
{
	const struct agent_sigaction action = {
		.handler = (__u64)on_wake,
		.flags = AGENT_SA_SIGINFO | AGENT_SA_RESTART | AGENT_SA_ONSTACK | AGENT_SA_RESTORER,
		.restorer = (__u64)agent_restorer,
		.mask = ~0ull,
	};
	struct agent_sigaction was;

	if (agent_syscall4(__NR_rt_sigaction, RENDEZVOUS_WAKE_SIGNAL, 0, &was, 8) ||
	    was.handler > AGENT_SIG_IGN)
		return;
	wake = on_value;
	believed_wake.handler = (void (*)(int))was.handler;
	listening = !agent_syscall4(__NR_rt_sigaction, RENDEZVOUS_WAKE_SIGNAL, &action, 0, 8);
}

void agent_find_signal_functions(void)
{
	next.action = agent_next_function("sigaction");
	next.signal = agent_next_function("signal");
	next.process_mask = agent_next_function("sigprocmask");
	next.thread_mask = agent_next_function("pthread_sigmask");
}

/* The constructor of another library may have called us before our own ran. */
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

/* To ignore the signal is compatible with listening; a handler is not. */
static int wake_action(const struct libc_action *action, struct libc_action *old)
{
	struct libc_action was = believed_wake;
	int handles = action && (__u64)action->handler > AGENT_SIG_IGN;

	if (handles && (!next.action || next.action(RENDEZVOUS_WAKE_SIGNAL, action, (void *)0)))
		return -1;
	if (handles)
		listening = 0;
	else if (action)
		__builtin_memcpy(&believed_wake, action, sizeof(believed_wake));
	if (old)
		__builtin_memcpy(old, &was, sizeof(was));
	return 0;
}

int sigaction(int signal, const void *action, void *old)
{
	struct libc_action was;

	be_ready();
	if (signal == RENDEZVOUS_WAKE_SIGNAL && listening)
		return wake_action(action, old);
	if (!signal || signal != agent_own.signal)
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
	if (number == RENDEZVOUS_WAKE_SIGNAL && listening) {
		was = believed_wake.handler;
		action.flags = (__s32)AGENT_SA_RESTART; /* as signal(3) has it */
		return wake_action(&action, (void *)0) ? SIG_ERROR : was;
	}
	if (!number || number != agent_own.signal)
		return next.signal ? next.signal(number, handler) : SIG_ERROR;
	__builtin_memcpy(&believed, &action, sizeof(believed));
	return was;
}

void agent_unblock(int number)
{
	__u64 set = 1ull << (number - 1);

	agent_syscall4(__NR_rt_sigprocmask, SIG_UNBLOCK, &set, 0, 8);
}

/* The set without our signal, unless it is a set to unblock. */
static const void *without_ours(int how, const void *set, struct libc_set *copy)
{
	int ours = agent_own.signal;

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
