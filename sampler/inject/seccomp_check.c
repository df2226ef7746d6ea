/*
 * Where filters may be read: stops each thread, copies its filters and runs them (seccomp_filter.h)
 * on the calls of x86_64/seccomp_calls.h. The kernel obeys the strictest of several filters, and so
 * does this. Where all filters are our own, a child of ours tries the calls, once for all threads.
 */
#include "sampler/inject/seccomp_check.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/pick_thread.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/reason.h"
#include "sampler/inject/seccomp_filter.h"
#include "sampler/inject/seccomp_status.h"
#include "sampler/inject/seccomp_trial.h"
#include "sampler/inject/x86_64/seccomp_calls.h"

#define GET_FILTER ((enum __ptrace_request)0x420c) /* PTRACE_SECCOMP_GET_FILTER, Linux 4.4 */
#define MAX_FILTERS 64
#define STOP_LIMIT_MS 200u
#define THREAD_LIMIT_NS 1000000000ull /* how long a thread is waited for until it can be stopped */
#define PAUSE_NS 2000000

static bool is_allowed(uint32_t action)
{
	action &= SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* What a filter does with a call that it does not allow. */
static const char *consequence(uint32_t action)
{
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ERRNO: return "denies it";
	case SECCOMP_RET_USER_NOTIF:
	case SECCOMP_RET_TRACE: return "has another process decide over";
	case SECCOMP_RET_TRAP: return "has a handler of its own for";
	default: return "would end it for";
	}
}

static int judge_call(const struct inject_filter *filters, size_t nr,
		      const struct inject_known_call *known, struct inject_reason *reason)
{
	uint32_t worst = SECCOMP_RET_ALLOW;

	for (size_t i = 0; i < nr; i++) {
		uint32_t action;
		int err = seccomp_filter_run(filters[i].code, filters[i].nr, &known->call, &action);

		if (err)
			return inject_refuse_entry(
				reason, -ENOTSUP, "",
				"what its seccomp filter says of %s(2), which sprof would "
				"have it make, is not known beforehand",
				known->name);
		worst = seccomp_filter_worse(worst, action);
	}
	if (is_allowed(worst) || (known->need == CALL_OPTIONAL &&
				  (worst & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO))
		return 0;
	return inject_refuse_entry(reason, -ENOTSUP, "",
				   "its seccomp filter %s %s(2), which sprof would have it make",
				   consequence(worst), known->name);
}

int inject_seccomp_judge(const struct inject_filter *filters, size_t nr,
			 struct inject_reason *reason)
{
	int err = 0;

	for (size_t i = 0; i < inject_nr_known_calls && !err; i++)
		if (inject_known_calls[i].need != CALL_BY_NAME) /* we are not under a filter */
			err = judge_call(filters, nr, &inject_known_calls[i], reason);
	return err;
}

static void free_filters(struct inject_filter *filters, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(filters[i].code);
}

/* The filters of a stopped thread. Returns how many, or -errno. */
static int read_filters(pid_t tid, struct inject_filter *filters)
{
	int nr;

	for (nr = 0; nr < MAX_FILTERS; nr++) {
		struct sock_filter *code;
		long size = ptrace(GET_FILTER, tid, (void *)(uintptr_t)nr, NULL);

		if (size < 0 && errno == ENOENT)
			return nr;
		if (size <= 0 || size > SECCOMP_FILTER_MAX)
			break;
		code = xcalloc((size_t)size, sizeof(*code));
		if (ptrace(GET_FILTER, tid, (void *)(uintptr_t)nr, code) != size) {
			free(code);
			break;
		}
		filters[nr] = (struct inject_filter){ code, (size_t)size };
	}
	free_filters(filters, (size_t)nr);
	return nr < MAX_FILTERS ? -EACCES : -E2BIG;
}

/* Reads the filters of a stopped thread. `text` is its status from before the stop. */
static int judge_stopped(pid_t tid, const char *text, struct inject_filter *filters, int *ret_nr)
{
	int nr = read_filters(tid, filters);

	if (nr < 0)
		return nr;
	*ret_nr = nr;
	/* Compared with the number in its status; older kernels do not say it. */
	return nr && nr == inject_status_number(text, "Seccomp_filters", nr) ? 0 : -EAGAIN;
}

/* A thread in a call that a stop would disturb is given time to leave it. */
static int stop(struct inject_thread *t, const struct inject_process *p, pid_t tid)
{
	uint64_t until = monotonic_ns() + THREAD_LIMIT_NS;
	int err;

	do {
		err = -EBUSY;
		if (pick_thread_rank(p->pid, tid) != INJECT_RANK_NEVER)
			err = inject_thread_stop_one(t, p, tid, STOP_LIMIT_MS);
		inject_thread_release_hung(t);
		if (err != -EBUSY && err != -ETIMEDOUT)
			return err;
		nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
	} while (monotonic_ns() < until);
	return err;
}

/* Reads the filters of a thread and asks them. `text` is its status. */
static int read_and_judge(struct inject_thread *t, const struct inject_process *p, pid_t tid,
			  const char *text, struct inject_reason *reason)
{
	struct inject_filter filters[MAX_FILTERS];
	int nr = 0, err = stop(t, p, tid);

	if (err == -ESRCH)
		return 0;
	if (err == -ETIMEDOUT || err == -EBUSY)
		return inject_refuse(
			reason, -EBUSY, "try again",
			"a thread of it could not be stopped to read its seccomp filter");
	if (err)
		return err;
	err = judge_stopped(tid, text, filters, &nr);
	inject_thread_release(t, true);
	if (err)
		inject_refuse_entry(
			reason, -ENOTSUP, "",
			"a seccomp filter decides over its system calls, and it could not be "
			"read: %s",
			strerror(-err));
	else
		err = inject_seccomp_judge(filters, (size_t)nr, reason);
	free_filters(filters, (size_t)nr);
	return err ? -ENOTSUP : 0;
}

struct checking {
	const struct inject_process *process;
	struct inject_thread *thread;
	struct inject_reason *reason;
	bool tried; /* what our own filters allow */
};

static int check_one(void *context, pid_t tid)
{
	struct checking *c = context;
	char text[8192];
	int kind;

	if (proc_status_text(tid, text, sizeof(text)))
		return 0; /* it has ended */
	kind = inject_seccomp_kind(tid, text, c->reason);
	if (kind == INJECT_FILTER_READABLE)
		return read_and_judge(c->thread, c->process, tid, text, c->reason);
	if (kind == INJECT_FILTER_SHARED && !c->tried) {
		c->tried = true;
		return inject_seccomp_try(c->reason);
	}
	return kind < 0 ? kind : 0;
}

int inject_seccomp_check(const struct inject_process *process, struct inject_reason *reason)
{
	struct checking c = { process, xcalloc(1, sizeof(*c.thread)), reason, false };
	int err = inject_each_thread(process->pid, check_one, &c);

	free(c.thread);
	return err;
}
