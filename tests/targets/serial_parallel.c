/*
 * A program of which one thread works, and then several:
 *
 *	serial_parallel SERIAL PARALLEL THREADS
 *
 * alone() takes SERIAL ms of elapsed time in one thread, together() then PARALLEL ms in THREADS
 * threads at once. Prints `FUNCTION MS`, as measured.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t barrier;
static long parallel_ms;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000l + t.tv_nsec / 1000;
}

static inline __attribute__((always_inline)) void work(long until_us)
{
	volatile unsigned long x = 1;

	while (now_us() < until_us)
		for (int i = 0; i < 2000; i++)
			x = x * 3 + 1;
}

static __attribute__((noipa)) void alone(long until_us)
{
	work(until_us);
	__asm__ volatile("");
}

static __attribute__((noipa)) void together(long until_us)
{
	work(until_us);
	__asm__ volatile("");
}

static void *run(void *arg)
{
	pthread_barrier_wait(&barrier);
	together(now_us() + parallel_ms * 1000);
	return arg;
}

int main(int argc, char **argv)
{
	long serial_ms = argc > 1 ? atol(argv[1]) : 500, begin = now_us(), middle;
	int nr = argc > 3 ? atoi(argv[3]) : 2;
	pthread_t threads[64];

	parallel_ms = argc > 2 ? atol(argv[2]) : 500;
	if (nr < 1 || nr > 64)
		return 1;
	alone(begin + serial_ms * 1000);
	middle = now_us();
	pthread_barrier_init(&barrier, NULL, (unsigned int)nr);
	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("alone %ld\ntogether %ld\n", (middle - begin) / 1000, (now_us() - middle) / 1000);
	return 0;
}
