/*
 * How many allocations of a process are sampled: about 2000 in a second of its CPU time, and fewer
 * where taking them would need more than a small share of that time.
 */
#ifndef SPROF_SAMPLE_RATE_H
#define SPROF_SAMPLE_RATE_H

#include <stdint.h>

/* What taking samples has taken, and how many these were. A target may write any numbers. */
struct alloc_taking {
	uint64_t ns, nr;
};

/*
 * The mean number of bytes between samples from now on, after `nr_samples` were seen in `ns` of CPU
 * time with that interval. It changes by a factor of two at most, so that one burst does not leave
 * the next second without samples.
 */
uint64_t alloc_next_interval(uint64_t interval, uint64_t nr_samples, uint64_t ns,
			     const struct alloc_taking *taking);

#endif
