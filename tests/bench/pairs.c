/*
 * Pairs of malloc and free:
 *
 *	pairs NR [SIZE]
 *
 * For each line on standard input it makes NR pairs of SIZE bytes (64), and prints how many ns of
 * CPU time each took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Also called by pairs.py, which loads this file as a library. */
double pairs_ns(uint64_t nr, size_t size)
{
	double start = cpu_ns();

	for (uint64_t i = 0; i < nr; i++) {
		void *block = malloc(size);

		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
	return (cpu_ns() - start) / (double)nr;
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	size_t size = argc > 2 ? strtoull(argv[2], NULL, 10) : 64;
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		printf("%.3f\n", pairs_ns(nr, size));
		fflush(stdout);
	}
	return 0;
}
