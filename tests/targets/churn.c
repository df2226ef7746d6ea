/*
 * Starts ten thousand threads, eight at a time, each of which ends before the next tick of the
 * kernel's clock. Argument 1: the number of threads, argument 2: the microseconds that each one
 * lives. Fails if the process still has a timer for each of them at the end.
 */
#include "tests/targets/work.h"

#include <pthread.h>
#include <string.h>

#define AT_ONCE 8
#define MAX_TIMERS 1000

static uint64_t total_ns, each_ns;

static NOIPA void work(uint64_t until)
{
	do
		for (volatile int i = 0; i < 1000; i++)
			;
	while (cpu_ns() < until);
}

static void *brief(void *unused)
{
	uint64_t start = cpu_ns();

	work(start + each_ns);
	__atomic_fetch_add(&total_ns, cpu_ns() - start, __ATOMIC_RELAXED);
	return unused;
}

static int nr_timers(void)
{
	FILE *f = fopen("/proc/self/timers", "re");
	char line[256];
	int nr = 0;

	while (f && fgets(line, sizeof(line), f))
		nr += !strncmp(line, "ID:", 3);
	if (f)
		fclose(f);
	return nr;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	pthread_t threads[AT_ONCE];

	each_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 300) * 1000;
	for (unsigned long i = 0; i < nr; i += AT_ONCE) {
		for (int j = 0; j < AT_ONCE; j++)
			if (pthread_create(&threads[j], NULL, brief, NULL))
				return 1;
		for (int j = 0; j < AT_ONCE; j++)
			pthread_join(threads[j], NULL);
	}
	truth(total_ns, "brief;work");
	return nr_timers() < MAX_TIMERS ? 0 : 1;
}
