/*
 * A thread of the recorder for one visit to a process: when it ends, the kernel releases whatever
 * it still traces.
 */
#include "sampler/inject/inject.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "sampler/inject/inject_check.h"
#include "sampler/inject/seccomp_status.h"

struct run {
	pid_t pid;
	uint64_t stub;
	int (*work)(struct inject *inject, void *context);
	void *context;
	struct inject_reason *reason;
	int result;
};

static void *run_thread(void *argument)
{
	struct run *run = argument;
	struct inject *i = NULL;

	prctl(PR_SET_TIMERSLACK, 1000ul); /* naps are to be short */
	run->result = inject_open(run->pid, run->stub, &i, run->reason);
	if (!run->result)
		run->result = run->work(i, run->context);
	inject_close(i);
	return NULL;
}

static int do_nothing(struct inject *inject, void *context)
{
	(void)inject;
	(void)context;
	return 0;
}

int inject_probe(pid_t pid, struct inject_reason *reason)
{
	int err = inject_check_status(pid, reason);

	if (!err)
		err = inject_seccomp_kind_of_process(pid, reason);
	return err > INJECT_NO_FILTER ? inject_run(pid, 0, do_nothing, NULL, reason) : err;
}

int inject_run(pid_t pid, uint64_t stub, int (*work)(struct inject *inject, void *context),
	       void *context, struct inject_reason *reason)
{
	struct run run = { pid, stub, work, context, reason, 0 };
	sigset_t all, mask, stops;
	pthread_t thread;
	int err;

	sigfillset(&all); /* signals of the recorder go to its main thread */
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	err = pthread_create(&thread, NULL, run_thread, &run);
	/*
	 * Each stop of the target sends SIGCHLD: the thread that waits here need not wake up and
	 * take a CPU for it.
	 */
	stops = mask;
	sigaddset(&stops, SIGCHLD);
	pthread_sigmask(SIG_SETMASK, &stops, NULL);
	if (!err)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (err)
		return inject_refuse(reason, -err, "", "no thread could be started: %s",
				     strerror(err));
	return run.result;
}
