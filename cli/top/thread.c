/* A new thread inherits the signal mask, so signals are blocked while it is created. */
#include "cli/top/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, void *(*run)(void *), void *context, bool resizes)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	sigset_t mask, before;
	int err;

	sigfillset(&mask);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigdelset(&mask, crashes[i]);
	if (resizes)
		sigdelset(&mask, SIGWINCH);
	pthread_sigmask(SIG_SETMASK, &mask, &before);
	err = pthread_create(ret_thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}
