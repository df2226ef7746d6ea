/*
 * Obeys the commands of the recorder. Each may be given twice: the fields of the region that say
 * how far the target is (installed, state) make the second one do nothing.
 */
#include "sampler/agent/agent.h"
#include "sampler/agent/syscall.h"

#define HIGHEST_SIGNAL 62 /* neither the highest ones nor those that libcs use themselves */
#define LOWEST_SIGNAL 35

static long get_action(int signal, struct agent_sigaction *ret)
{
	return agent_syscall4(__NR_rt_sigaction, signal, 0, ret, 8);
}

static long set_action(int signal, const struct agent_sigaction *action,
		       struct agent_sigaction *old)
{
	return agent_syscall4(__NR_rt_sigaction, signal, action, old, 8);
}

int agent_free_signal(void)
{
	for (int signal = HIGHEST_SIGNAL; signal >= LOWEST_SIGNAL; signal--) {
		struct agent_sigaction action;

		if (!get_action(signal, &action) && action.handler == AGENT_SIG_DFL)
			return signal;
	}
	return 0;
}

static long install(struct agent_region *r)
{
	const struct agent_sigaction action = {
		.handler = (__u64)agent_handler,
		.flags = AGENT_SA_SIGINFO | AGENT_SA_RESTART | AGENT_SA_ONSTACK | AGENT_SA_RESTORER,
		.restorer = (__u64)agent_restorer,
		.mask = ~0ull,
	};
	long err;

	if (r->installed)
		return 0;
	if (!r->signal)
		r->signal = agent_free_signal();
	if (!r->signal)
		return -16; /* EBUSY */
	err = set_action(r->signal, &action, &r->old_action);
	/* Our own handler is there in a child that was forked while it was installed. */
	if (!err && r->old_action.handler == (__u64)agent_handler)
		r->old_action = (struct agent_sigaction){ .handler = AGENT_SIG_DFL };
	if (!err)
		__atomic_store_n(&r->installed, 1, __ATOMIC_RELEASE);
	return err;
}

static long arm(struct agent_region *r)
{
	if (!r->installed || !r->period_ns)
		return -22; /* EINVAL */
	__atomic_store_n(&r->state, AGENT_ON, __ATOMIC_RELEASE);
	__atomic_store_n(&r->mailbox, 1, __ATOMIC_RELEASE);
	agent_serve_slots(r, REGION_MAX_THREADS);
	return 0;
}

static void disarm(struct agent_region *r)
{
	__atomic_store_n(&r->state, AGENT_OFF, __ATOMIC_RELEASE);
	agent_free_slots(r);
}

static long detach(struct agent_region *r)
{
	const struct agent_sigaction ignore = { .handler = AGENT_SIG_IGN };
	struct agent_sigaction now;
	long err = 0;

	disarm(r);
	if (!r->installed)
		return 0;
	err = get_action(r->signal, &now);
	/* A handler that the program has set meanwhile stays. */
	if (!err && now.handler == (__u64)agent_handler) {
		/* ignoring a signal drops all that are pending, in all threads */
		set_action(r->signal, &ignore, 0);
		err = set_action(r->signal, &r->old_action, 0);
	}
	if (!err)
		__atomic_store_n(&r->installed, 0, __ATOMIC_RELEASE);
	return err;
}

long agent_enter(struct agent_region *r, __u32 commands)
{
	long err = 0;

	if (r->magic != REGION_MAGIC || r->version != REGION_VERSION)
		return -22;
	if (commands & AGENT_INSTALL)
		err = install(r);
	if (commands & AGENT_ARM && !err)
		err = arm(r);
	if (commands & AGENT_DISARM)
		disarm(r);
	if (commands & AGENT_DETACH)
		err = detach(r);
	r->result = (__s32)err;
	__atomic_fetch_add(&r->done, 1, __ATOMIC_RELEASE);
	return err;
}
