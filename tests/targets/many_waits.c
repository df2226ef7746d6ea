/*
 * Many threads that wait, half of them in one function and half in another, for times that differ:
 *
 *	many_waits MILLISECONDS THREADS
 *
 * At its end it prints how long the threads of each function waited by the kernel's own counts
 * (/proc/self/task/TID/schedstat), `FUNCTION NS`.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

#define NOIPA __attribute__((noipa))
#define NO_TAIL_CALL() __asm__ volatile("")

static uint64_t end_ns;
static atomic_ullong waited[2];

static void pass(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

static NOIPA void naps(void)
{
	while (monotonic_ns() < end_ns)
		pass(60000000);
	NO_TAIL_CALL();
}

static NOIPA void sleeps(void)
{
	while (monotonic_ns() < end_ns)
		pass(240000000);
	NO_TAIL_CALL();
}

/* On a CPU or waiting for one. */
static uint64_t ready_ns(void)
{
	uint64_t cpu = 0, delay = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)gettid());
	f = fopen(path, "r");
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, &cpu, &delay) != 2)
		fprintf(stderr, "no %s\n", path);
	if (f)
		fclose(f);
	return cpu + delay;
}

static void *run(void *arg)
{
	int is_long = (int)(intptr_t)arg;
	uint64_t ready = ready_ns(), start = monotonic_ns();

	(is_long ? sleeps : naps)();
	start = monotonic_ns() - start;
	ready = ready_ns() - ready;
	waited[is_long] += ready < start ? start - ready : 0;
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 100;
	pthread_t *threads = calloc((size_t)nr, sizeof(*threads));

	end_ns = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)(i & 1)))
			return 1;
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("naps %llu\nsleeps %llu\n", waited[0], waited[1]);
	free(threads);
	return 0;
}
