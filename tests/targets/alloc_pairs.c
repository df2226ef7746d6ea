/*
 * Does nothing but allocate and free, by each function of malloc's family.
 *
 *	alloc_pairs MILLISECONDS_OF_CPU_TIME
 */
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SIZE 100u
#define NR_EACH 1000

static void *volatile block;

static NOINLINE void pairs(void)
{
	for (int i = 0; i < NR_EACH; i++) {
		block = malloc(SIZE);
		free(block);
		block = calloc(2, SIZE);
		block = realloc(block, SIZE);
		free(block);
		block = aligned_alloc(64, SIZE);
		free(block);
	}
}

int main(int argc, char **argv)
{
	clock_t end = argc > 1 ? atol(argv[1]) * (CLOCKS_PER_SEC / 1000) : 0;

	while (clock() < end)
		pairs();
	return 0;
}
