/*
 * fleet NR BUSY: so many processes, of which BUSY use a fifth of a CPU each. All others sleep, and
 * work for 30 us once in two seconds, below a stack of 10 to 40 frames that depends on the process.
 * Prints "ready" when all have begun; ends with its parent.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static NOIPA unsigned work(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	volatile unsigned sum = 0;

	do {
		for (int i = 0; i < 200; i++)
			sum += (unsigned)i;
	} while (now_ns() < end);
	return sum;
}

typedef unsigned level(unsigned depth, unsigned path, uint64_t ns);
static level one, two, three;
static level *const levels[] = { one, two, three };

static NOIPA unsigned deeper(unsigned depth, unsigned path, uint64_t ns)
{
	return depth ? levels[path % 3](depth - 1, path / 3, ns) : work(ns);
}

static NOIPA unsigned one(unsigned depth, unsigned path, uint64_t ns)
{
	return deeper(depth, path, ns) + 1;
}

static NOIPA unsigned two(unsigned depth, unsigned path, uint64_t ns)
{
	return deeper(depth, path * 7 + 1, ns) + 2;
}

static NOIPA unsigned three(unsigned depth, unsigned path, uint64_t ns)
{
	return deeper(depth, path * 5 + 2, ns) + 3;
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}

static void run(unsigned number, int is_busy)
{
	unsigned depth = 5 + number % 16, turn = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep_ns(number % 2000 * 1000000ull);
	for (;;) {
		if (is_busy) {
			deeper(depth, number * 31 + turn++ % 50, 4000000);
			sleep_ns(16000000);
		} else {
			deeper(depth, number, 30000);
			sleep_ns(2000000000);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned nr = argc > 2 ? (unsigned)atoi(argv[1]) : 0,
		 busy = nr ? (unsigned)atoi(argv[2]) : 0;

	if (!nr)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < nr; i++)
		if (!fork())
			run(i, i < busy);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
