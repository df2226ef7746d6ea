/*
 * Argument 1: a number of relays, argument 2: milliseconds. Each thread of a relay waits for 2 ms,
 * starts the next one and ends, so at any moment every relay has a thread.
 */
#include "tests/targets/work.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static void start_next(void);

static void *leg(void *unused)
{
	struct timespec brief = { 0, 2000000 };

	nanosleep(&brief, NULL);
	start_next();
	return unused;
}

static void start_next(void)
{
	pthread_t next;

	if (pthread_create(&next, NULL, leg, NULL))
		abort();
	pthread_detach(next);
}

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 40;
	unsigned long ms = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	struct timespec all = { (time_t)(ms / 1000), (long)(ms % 1000 * 1000000) };

	for (unsigned long i = 0; i < nr; i++)
		start_next();
	puts("started");
	fflush(stdout);
	nanosleep(&all, NULL);
	return 0;
}
