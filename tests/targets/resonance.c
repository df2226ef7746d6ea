// resonance MS HZ: alternates between two functions twice per period of 1/HZ s, so that a sampler
// which fires exactly HZ times a second always sees the same one. True shares: main;first_half 50
// %, main;second_half 50 %.
#include "tests/targets/work.h"

#include "core/base/clock.h"

NOIPA void first_half(uint64_t until)
{
	while (__builtin_ia32_rdtsc() < until)
		__builtin_ia32_pause();
}

NOIPA void second_half(uint64_t until)
{
	while (__builtin_ia32_rdtsc() < until)
		__builtin_ia32_pause();
}

static double measure_ticks_per_ns(void)
{
	uint64_t ns = monotonic_ns(), ticks = __builtin_ia32_rdtsc(), end = ns + 20000000;

	while (monotonic_ns() < end)
		;
	return (double)(__builtin_ia32_rdtsc() - ticks) / (double)(monotonic_ns() - ns);
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_first = 0, ns_second = 0;
	unsigned hz = argc > 2 ? (unsigned)atoi(argv[2]) : 999;
	uint64_t half = (uint64_t)(measure_ticks_per_ns() * 1e9 / hz / 2),
		 next = __builtin_ia32_rdtsc();

	while (ns_first + ns_second < budget) {
		TIMED(ns_first, first_half(next += half));
		TIMED(ns_second, second_half(next += half));
	}
	truth(ns_first, "main;first_half");
	truth(ns_second, "main;second_half");
	return 0;
}
