/*
 * Uses signals in ways that a profiler based on signals must tolerate, and checks that its own work
 * is undisturbed:
 *  prof	takes SIGPROF for itself, by setitimer(2), and counts the signals
 *  reset	resets every signal to the default action now and then, as daemons do
 *  block	works in a thread where every signal is blocked
 *  queue	has a handler for every free real-time signal, and queues each of them to itself
 *  errno	checks errno, a wait that must not be interrupted, and its registers
 */
#include "tests/targets/work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t nr_prof, nr_queued;

static NOIPA void work(void)
{
	BURN(20);
	NO_TAIL_CALL();
}

static void on_prof(int signal)
{
	(void)signal;
	nr_prof++;
}

static void on_queued(int signal, siginfo_t *info, void *context)
{
	(void)context;
	nr_queued += info->si_code == SI_QUEUE && info->si_value.sival_int == signal;
}

static void reset_all(void)
{
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			signal(i, SIG_DFL);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction a = { .sa_handler = SIG_DFL };

		sigaction(i, &a, NULL);
	}
}

static bool queue_all(void)
{
	int before = nr_queued, nr = 0;

	for (int i = SIGRTMIN; i <= SIGRTMAX; i++) {
		struct sigaction a = { .sa_sigaction = on_queued, .sa_flags = SA_SIGINFO }, was;

		if (sigaction(i, &a, NULL) || sigaction(i, NULL, &was) ||
		    was.sa_sigaction != on_queued)
			return false;
		nr += !sigqueue(getpid(), i, (union sigval){ .sival_int = i });
	}
	return nr_queued - before == nr;
}

static bool keeps_errno(void)
{
	double x = 1.5, y = 2.25;

	for (int i = 0; i < 2000000; i++) {
		errno = i & 127;
		__asm__ volatile("" : "+x"(x), "+x"(y)::"memory");
		if (errno != (i & 127) || x != 1.5 || y != 2.25)
			return false;
	}
	return true;
}

static NOIPA uint64_t run(const char *mode, uint64_t budget, bool *good)
{
	uint64_t ns = 0;

	while (ns < budget) {
		TIMED(ns, work());
		if (!strcmp(mode, "reset"))
			reset_all();
		if (!strcmp(mode, "queue"))
			*good &= queue_all();
		if (!strcmp(mode, "errno"))
			TIMED(ns, *good &= keeps_errno());
	}
	return ns;
}

static uint64_t thread_budget, thread_ns;

static void *blocked(void *argument)
{
	bool good = true;

	thread_ns = run(argument, thread_budget, &good);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	bool good = true;

	if (!strcmp(mode, "block")) {
		pthread_t thread;
		sigset_t all;

		thread_budget = budget;
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, NULL);
		pthread_create(&thread, NULL, blocked, "");
		pthread_join(thread, NULL);
		truth(thread_ns, "blocked;run;work");
		return 0;
	}
	if (!strcmp(mode, "prof")) {
		const struct itimerval often = { { 0, 10000 }, { 0, 10000 } };

		signal(SIGPROF, on_prof);
		setitimer(ITIMER_PROF, &often, NULL);
	}
	ns = run(mode, budget, &good);
	if (!strcmp(mode, "prof"))
		good = nr_prof >= (sig_atomic_t)(ns / 20000000);
	truth(ns, !strcmp(mode, "errno") ? "main;run;**" : "main;run;work");
	if (!good)
		fprintf(stderr, "own_signals: %s went wrong\n", mode);
	return good ? 0 : 1;
}
