// gapmeter MS [CPU]: measures for how long an interrupt takes the program off the CPU. Below 32
// frames without frame pointers it reads the cycle counter in a loop; a gap between two readings is
// time that was taken away. A hypervisor causes gaps too, but shorter ones: the kernel counts the
// timer interrupts of this CPU, and only that many gaps, the longest, are used. Gaps of over 1 ms
// are turns of other processes and are left out. Prints interrupts per second, and p50, p90 and
// mean of their gaps in us. All time is in ...;f30;watch.
// BUILD: -fomit-frame-pointer
#include "tests/targets/deep32.h"

#include <sched.h>
#include <string.h>

#include "core/base/clock.h"

#define MAX_GAPS 1000000

static uint64_t gaps[MAX_GAPS];
static size_t nr_gaps;
static uint64_t run_ticks, shortest_gap, longest_gap;

NOIPA void watch(void)
{
	uint64_t before = __builtin_ia32_rdtsc(), end = before + run_ticks, now;

	for (; before < end && nr_gaps < MAX_GAPS; before = now) {
		now = __builtin_ia32_rdtsc();
		if (now - before >= shortest_gap && now - before <= longest_gap)
			gaps[nr_gaps++] = now - before;
	}
}

/*
 * Number of local timer interrupts of a CPU since boot: line LOC of /proc/interrupts has a column
 * per CPU.
 */
static size_t nr_timer_interrupts(unsigned cpu)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char *line = NULL, *end;
	size_t size = 0, nr = 0;

	while (file && getline(&line, &size, file) > 0) {
		end = strstr(line, "LOC:");
		if (!end)
			continue;
		end += strlen("LOC:");
		for (unsigned i = 0; i <= cpu; i++)
			nr = strtoull(end, &end, 10);
		break;
	}
	free(line);
	if (file)
		fclose(file);
	return nr;
}

static int longest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static double measure_ticks_per_us(void)
{
	uint64_t start_ns = monotonic_ns(), start = __builtin_ia32_rdtsc();

	while (monotonic_ns() - start_ns < 50000000)
		;
	return (double)(__builtin_ia32_rdtsc() - start) * 1000 /
	       (double)(monotonic_ns() - start_ns);
}

int main(int argc, char **argv)
{
	unsigned cpu = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	double ticks_per_us = measure_ticks_per_us(), mean = 0, seconds;
	uint64_t ns = budget_ns(argc, argv);
	cpu_set_t one_cpu;
	size_t nr;

	CPU_ZERO(&one_cpu);
	CPU_SET(cpu, &one_cpu);
	if (sched_setaffinity(0, sizeof(one_cpu), &one_cpu))
		return 1;
	run_ticks = (uint64_t)(ticks_per_us * (double)ns / 1000);
	shortest_gap = (uint64_t)(ticks_per_us * 0.5);
	longest_gap = (uint64_t)(ticks_per_us * 1000);
	seconds = (double)monotonic_ns() / 1e9;
	nr = nr_timer_interrupts(cpu);
	deep(watch);
	nr = nr_timer_interrupts(cpu) - nr;
	seconds = (double)monotonic_ns() / 1e9 - seconds;
	if (nr > nr_gaps)
		nr = nr_gaps;
	if (!nr)
		return 1;
	qsort(gaps, nr_gaps, sizeof(gaps[0]), longest_first);
	for (size_t i = 0; i < nr; i++)
		mean += (double)gaps[i] / (double)nr;
	printf("interrupts/s %.0f p50 %.2f p90 %.2f mean %.2f us\n", (double)nr / seconds,
	       (double)gaps[nr / 2] / ticks_per_us, (double)gaps[nr / 10] / ticks_per_us,
	       mean / ticks_per_us);
	return 0;
}
