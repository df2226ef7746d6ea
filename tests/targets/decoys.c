/*
 * decoys [SECONDS]: works, and has memory of its own at addresses that sprof uses in other
 * processes (there is one every 256 MiB): a page of data, a page of zeros that could be run, and
 * larger ones. Ends with status 1 if any of it was changed or unmapped.
 */
#include "tests/targets/work.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#define START 0x10005f0f000ull
#define STRIDE (1ull << 28)
#define PAGE 4096u

static const struct decoy {
	int protection, flags;
	unsigned int nr_pages;
} decoys[] = {
	{ PROT_READ, MAP_SHARED, 16 },
	{ PROT_READ | PROT_WRITE, MAP_PRIVATE, 2 },
	{ PROT_READ | PROT_EXEC, MAP_PRIVATE, 2 },
	{ PROT_READ | PROT_EXEC, MAP_PRIVATE, 1 },
	{ PROT_READ | PROT_WRITE, MAP_PRIVATE, 1 },
};
#define NR (sizeof(decoys) / sizeof(decoys[0]))

static void *place(size_t i)
{
	return (void *)(START + i * STRIDE);
}

static bool is_zero(size_t i)
{
	const volatile unsigned char *at = place(i);

	for (size_t n = 0; n < decoys[i].nr_pages * PAGE; n++)
		if (at[n])
			return false;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t end = cpu_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000000;

	for (size_t i = 0; i < NR; i++) {
		int flags = decoys[i].flags | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

		if (mmap(place(i), decoys[i].nr_pages * PAGE, decoys[i].protection, flags, -1, 0) !=
		    place(i)) {
			perror("decoys");
			return 2;
		}
	}
	while (cpu_ns() < end) {
		BURN(1);
		for (size_t i = 0; i < NR; i++)
			if (!is_zero(i)) {
				fprintf(stderr, "decoys: memory %zu was changed\n", i);
				return 1;
			}
	}
	return 0;
}
