/* Waits for half of its time and works for the other half; one thread always waits. */
#include "tests/targets/work.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "core/base/clock.h"

static NOIPA void wait_until(uint64_t end)
{
	struct timespec t = { (time_t)(end / 1000000000), (long)(end % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
	NO_TAIL_CALL();
}

static NOIPA void work_until(uint64_t end)
{
	while (monotonic_ns() < end)
		BURN(1);
}

static void *idle(void *end)
{
	wait_until(*(uint64_t *)end);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end = monotonic_ns() + budget_ns(argc, argv), half = 100000000;
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, &end))
		return 1;
	while (monotonic_ns() < end) {
		wait_until(monotonic_ns() + half);
		work_until(monotonic_ns() + half);
	}
	pthread_join(thread, NULL);
	truth(end, "main;**");
	return 0;
}
