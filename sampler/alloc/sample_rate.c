/*
 * The next interval lets through as many samples as are wanted, if the program goes on as in the
 * last stretch of time; it at most doubles or halves at a time.
 */
#include "sampler/alloc/sample_rate.h"

#define A_SECOND 2000.0
#define LEAST_A_SECOND 100.0 /* whatever they take */
#define SHARE (1 / 250.0)    /* of the CPU time, for taking them; their frees come on top */
#define INTERVAL_LEAST (64ull << 10)
#define INTERVAL_MOST (1ull << 36)

static uint64_t nr_wanted(uint64_t ns, const struct alloc_taking *taking)
{
	double seconds = (double)ns / 1e9, most = A_SECOND * seconds;
	double least = LEAST_A_SECOND * seconds, paid = most;

	if (taking->ns && taking->nr)
		paid = (double)ns * SHARE * (double)taking->nr / (double)taking->ns;
	return (uint64_t)(paid > most ? most : paid < least ? least : paid) + 1;
}

uint64_t alloc_next_interval(uint64_t interval, uint64_t nr_samples, uint64_t ns,
			     const struct alloc_taking *taking)
{
	uint64_t wanted = nr_wanted(ns, taking), next;

	if (nr_samples > 2 * wanted)
		next = 2 * interval;
	else if (!nr_samples || nr_samples < wanted / 2)
		next = interval / 2;
	else
		next = (uint64_t)((double)interval * (double)nr_samples / (double)wanted);
	return next < INTERVAL_LEAST ? INTERVAL_LEAST : next > INTERVAL_MOST ? INTERVAL_MOST : next;
}
