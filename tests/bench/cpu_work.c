/*
 * cpu_work ROUNDS: a fixed amount of work below a stack of some depth, partly on memory that is not
 * in the first caches. Prints the CPU seconds that it took and its involuntary context switches.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define NR_WORDS (1u << 17)

static uint64_t words[NR_WORDS];

static __attribute__((noinline)) uint64_t work(int depth, uint64_t x)
{
	volatile uint64_t kept = x;

	if (depth)
		return work(depth - 1, x + 1) + kept;
	for (int i = 0; i < 20000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		words[x >> 47 & (NR_WORDS - 1)] += x;
	}
	return x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	struct rusage usage;
	struct timespec t;
	uint64_t x = 1;

	while (rounds--)
		x += work(20, x);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld.%09ld %ld %d\n", t.tv_sec, t.tv_nsec, usage.ru_nivcsw, (int)(x & 1));
	return 0;
}
