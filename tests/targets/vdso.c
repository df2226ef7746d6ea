// Reads clocks, which runs in the vdso. True shares: main;monotonic and its callees 50 %,
// main;time_of_day 50 %.
#include "tests/targets/work.h"

#include <sys/time.h>

NOIPA void monotonic(int nr)
{
	struct timespec t;

	while (nr--)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

NOIPA void time_of_day(int nr)
{
	struct timeval t;

	while (nr--)
		gettimeofday(&t, NULL);
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_monotonic = 0, ns_day = 0;

	while (ns_monotonic + ns_day < budget) {
		TIMED(ns_monotonic, monotonic(200000));
		while (ns_day < ns_monotonic)
			TIMED(ns_day, time_of_day(50000));
	}
	truth(ns_monotonic, "main;monotonic;**");
	truth(ns_day, "main;time_of_day;**");
	return 0;
}
