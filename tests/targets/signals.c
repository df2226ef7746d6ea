// signals MS [altstack]: a SIGPROF handler that works on top of interrupted work, on the same stack
// or on another. Of every 10 ms of CPU time, BURN(12) is in main;interrupted;(signal
// frame);on_tick;handler_work, the rest in main;interrupted. The signals follow CPU time because
// wall-clock signals would also come while other programs have the CPU, which would change the
// shares from one second to the next.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

static uint64_t ns_handler, ns_interrupted, last_end;

NOIPA void handler_work(void)
{
	BURN(12);
}

/*
 * Also measures the work that it interrupts, from the end of one signal to the start of the next.
 */
NOIPA void on_tick(int signal)
{
	static uint64_t usual;
	uint64_t start = cpu_ns();

	(void)signal;
	ns_interrupted += without_pause(&usual, start - last_end);
	TIMED(ns_handler, handler_work());
	last_end = cpu_ns();
}

/* Reads no clock: a signal that interrupted the clock would have other callers. */
NOIPA void interrupted(uint64_t units)
{
	BURN(units);
}

int main(int argc, char **argv)
{
	struct itimerval every_10ms = { { 0, 10000 }, { 0, 10000 } },
			 never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	uint64_t ns_100_units = 0, units;

	if (argc > 2 && strcmp(argv[2], "altstack") == 0) {
		static char space[65536];
		stack_t stack = { .ss_sp = space, .ss_size = sizeof(space) };

		sigaltstack(&stack, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	TIMED(ns_100_units, BURN(100));
	units = budget_ns(argc, argv) * 100 / ns_100_units;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every_10ms, NULL);
	last_end = cpu_ns();
	interrupted(units);
	setitimer(ITIMER_PROF, &never, NULL);
	truth(ns_interrupted, "main;interrupted");
	truth(ns_handler, "main;interrupted;*;on_tick;handler_work");
	return 0;
}
