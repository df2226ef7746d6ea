/* A handler only sets a flag; the loop that records looks at it in each round. */
#include "cli/continuous/segment_signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t turn_asked, keep_asked;

static void on_signal(int signal)
{
	if (signal == SIGHUP)
		turn_asked = 1;
	else
		keep_asked = 1;
}

void segment_signals_catch(void)
{
	const struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGHUP, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
}

static bool take(volatile sig_atomic_t *flag)
{
	bool asked = *flag;

	*flag = 0;
	return asked;
}

bool segment_signals_take_turn(void)
{
	return take(&turn_asked);
}

bool segment_signals_take_keep(void)
{
	return take(&keep_asked);
}
