/*
 * A target of the timer source that lies about its samples: it writes into the memory that it
 * shares with the recorder that all samples there can be were lost, then works for 300 ms more.
 * Exits with status 77 where no recorder has come.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sampler/agent/region.h"

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The region is mapped by libsprof.so, as its only writable mapping of that memfd. */
static struct agent_region *find_region(void)
{
	unsigned long start, end, offset;
	struct agent_region *found = NULL;
	char line[512], rights[8];
	FILE *f = fopen("/proc/self/maps", "re");

	if (!f)
		return NULL;
	while (!found && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/memfd:sprof") ||
		    sscanf(line, "%lx-%lx %7s %lx", &start, &end, rights, &offset) != 4 ||
		    rights[1] != 'w' || offset > REGION_CODE_SIZE)
			continue;
		found = (struct agent_region *)(start + REGION_CODE_SIZE - offset);
	}
	fclose(f);
	return found;
}

static void work(double seconds)
{
	double end = now_s(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (now_s(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

int main(void)
{
	struct agent_region *region;

	work(0.2);
	region = find_region();
	if (!region)
		return 77;
	__atomic_store_n(&region->nr_busy, (__u64)-1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		__atomic_store_n(&region->rings[i].nr_dropped, (__u64)1 << 62, __ATOMIC_RELAXED);
	work(0.3);
	return 0;
}
