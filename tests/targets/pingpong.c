// pingpong MS [CPU [WARM_UP_MS [WORK]]]: two threads on one CPU send a byte back and forth through
// pipes, which causes a context switch each time. Prints the us per round trip over MS (the median
// of slices of 20 ms, which excludes the turns of other processes), after a warm-up in which a
// profiler can attach. Before it sends, each thread makes WORK steps of work, so that they switch
// less often.
#include "tests/targets/work.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define SLICE_MS 20

static int there[2], back[2];
static long nr_steps;

static void do_steps(void)
{
	unsigned long x = 1;

	for (long i = 0; i < nr_steps; i++) {
		x = x * 6364136223846793005 + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

static void *echo(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1) {
		do_steps();
		if (write(back[1], &byte, 1) != 1)
			abort();
	}
	return arg;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Runs round trips for this long; returns us per round trip. */
static double play(double duration_us)
{
	double start = now_us(), now = start;
	char byte = 0;
	long nr = 0;

	for (; now - start < duration_us; nr++, now = now_us()) {
		do_steps();
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
	}
	return nr ? (now - start) / (double)nr : 0;
}

static int smallest_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of_slices(double *slices, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		slices[i] = play(SLICE_MS * 1000);
	qsort(slices, nr, sizeof(*slices), smallest_first);
	return slices[nr / 2];
}

int main(int argc, char **argv)
{
	cpu_set_t one_cpu;
	size_t nr = (size_t)(budget_ns(argc, argv) / (SLICE_MS * 1000000)) + 1;
	double *slices = calloc(nr, sizeof(*slices));
	pthread_t thread;

	CPU_ZERO(&one_cpu);
	CPU_SET(argc > 2 ? (unsigned)atoi(argv[2]) : 0, &one_cpu);
	nr_steps = argc > 4 ? atol(argv[4]) : 0;
	if (!slices || sched_setaffinity(0, sizeof(one_cpu), &one_cpu) || pipe(there) ||
	    pipe(back) || pthread_create(&thread, NULL, echo, NULL))
		return 1;
	play(argc > 3 ? atof(argv[3]) * 1000 : 0);
	printf("us/round-trip %.3f\n", median_of_slices(slices, nr));
	free(slices);
	close(there[1]);
	pthread_join(thread, NULL);
	return 0;
}
