/*
 * Keeps 20 MB in a table whose blocks it replaces one after the other, twelve times over, and loses
 * a block beside each hundred, so that in a third of its time 1 % of what it holds is lost. Waits
 * for a line on standard input before it begins, and for the end of standard input before it ends;
 * in between it prints for each of the two places "NAME BYTES LIVE".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define NR_BLOCKS 20000u
#define BLOCK 1000u
#define NR_ROUNDS 12u
#define STEP 200u
#define LOST 500u

static void *table[NR_BLOCKS];
static void *volatile last;

static NOINLINE void fill_table(size_t i)
{
	free(table[i]);
	table[i] = memset(malloc(BLOCK), 1, BLOCK);
}

static NOINLINE void lose_some(void)
{
	last = memset(malloc(LOST), 1, LOST);
}

int main(void)
{
	size_t lost = 0, filled = 0;
	char line[16];

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (size_t i = 0; i < NR_ROUNDS * NR_BLOCKS; i++) {
		fill_table(i % NR_BLOCKS);
		filled += BLOCK;
		if (i % STEP)
			continue;
		lose_some();
		lost += LOST;
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	printf("fill_table %zu %u\nlose_some %zu %zu\nend\n", filled, NR_BLOCKS * BLOCK, lost,
	       lost);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
