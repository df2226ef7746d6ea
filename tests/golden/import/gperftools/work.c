/* Spins and allocates in functions of its own, for the profilers of gperftools. */
#include <gperftools/heap-profiler.h>
#include <gperftools/profiler.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sum;
static void *volatile kept[256];

__attribute__((noinline)) static void spin(double seconds)
{
	for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;)
		for (int i = 0; i < 10000; i++)
			sum += (unsigned long)i * sum;
}

__attribute__((noinline)) static void outer(void)
{
	spin(0.3);
	sum++;
}

__attribute__((noinline)) static void keep(void)
{
	for (int i = 0; i < 256; i++) {
		kept[i] = malloc(10000);
		void *volatile p = malloc(100);

		free(p);
	}
}

int main(void)
{
	HeapProfilerStart("gperftools");
	keep();
	HeapProfilerDump("done");
	HeapProfilerStop();
	ProfilerStart("gperftools.cpu");
	spin(0.6);
	outer();
	ProfilerStop();
	return 0;
}
