/*
 * Locks of known places, holders and waits:
 *
 *	locks MILLISECONDS
 *
 * Two threads take turns to hold `global`, a mutex in the program's data, for 8 ms, while a third
 * wants it; a fourth wants a mutex on the heap that the first thread holds for 3 ms at a time. At
 * its end each wanting thread prints `NAME LOCK WAITED_NS` by its own clock.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/base/clock.h"

static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *heap;
static uint64_t end_ns;

static bool is_over(void)
{
	return monotonic_ns() >= end_ns;
}

static void pass(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

static void hold(pthread_mutex_t *lock, long hold_ns, long pause_ns)
{
	while (!is_over()) {
		pthread_mutex_lock(lock);
		pass(hold_ns);
		pthread_mutex_unlock(lock);
		pass(pause_ns);
	}
}

static void want(const char *name, pthread_mutex_t *lock)
{
	uint64_t waited = 0;

	while (!is_over()) {
		uint64_t start = monotonic_ns();

		pthread_mutex_lock(lock);
		waited += monotonic_ns() - start;
		pthread_mutex_unlock(lock);
		pass(1000000);
	}
	printf("%s %s %" PRIu64 "\n", name, lock == heap ? "heap" : "global", waited);
}

static void *holds_global(void *unused)
{
	prctl(PR_SET_NAME, "holds_global");
	hold(&global, 8000000, 12000000);
	return unused;
}

static void *holds_heap(void *unused)
{
	prctl(PR_SET_NAME, "holds_heap");
	hold(heap, 3000000, 3000000);
	return unused;
}

static void *wants_global(void *unused)
{
	prctl(PR_SET_NAME, "wants_global");
	want("wants_global", &global);
	return unused;
}

static void *wants_heap(void *unused)
{
	prctl(PR_SET_NAME, "wants_heap");
	want("wants_heap", heap);
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const threads[])(void *) = { holds_global, holds_global, holds_heap,
						    wants_global, wants_heap };
	pthread_t started[5];

	end_ns = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	heap = malloc(sizeof(*heap));
	if (!heap || pthread_mutex_init(heap, NULL))
		return 1;
	for (int i = 0; i < 5; i++)
		if (pthread_create(&started[i], NULL, threads[i], NULL))
			return 1;
	for (int i = 0; i < 5; i++)
		pthread_join(started[i], NULL);
	return 0;
}
