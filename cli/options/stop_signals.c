/* A handler only remembers its signal; the loop that records looks at it in each round. */
#include "cli/options/stop_signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop_signal;

static void on_stop(int signal)
{
	stop_signal = signal;
}

static void on_child(int signal)
{
	(void)signal; /* it only ends the wait for data; waitpid() says which process ended */
}

void stop_signals_catch(void)
{
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = on_stop };

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		struct sigaction was;

		/* A process under nohup(1) inherits that SIGHUP is ignored: leave it so. */
		if (stops[i] == SIGHUP && !sigaction(SIGHUP, NULL, &was) &&
		    was.sa_handler == SIG_IGN)
			continue;
		/* A second signal ends sprof at once. */
		a.sa_flags = SA_RESETHAND;
		sigaction(stops[i], &a, NULL);
	}
	a.sa_flags = 0;
	a.sa_handler = on_child;
	sigaction(SIGCHLD, &a, NULL);
}

int stop_signals_caught(void)
{
	return (int)stop_signal;
}
