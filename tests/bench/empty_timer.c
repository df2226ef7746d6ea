/*
 * The floor of every profiler that uses timer signals, as a library for LD_PRELOAD: EMPTY_TIMER_HZ
 * signals for each second of the first thread's CPU time, and a handler that does nothing.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void do_nothing(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

__attribute__((constructor)) static void begin(void)
{
	const char *hz = getenv("EMPTY_TIMER_HZ");
	long period_ns = 1000000000 / (hz && atol(hz) > 1 ? atol(hz) : 100);
	struct sigaction action = { .sa_sigaction = do_nothing,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 5 };
	struct itimerspec every = { { 0, period_ns }, { 0, period_ns } };
	timer_t timer;

	event._sigev_un._tid = (int)syscall(SYS_gettid);
	if (sigaction(SIGRTMIN + 5, &action, NULL) ||
	    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL))
		abort();
}
