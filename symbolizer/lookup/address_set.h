/*
 * Sorted addresses that are looked up by range, millions of times: a table of buckets of equal
 * width gives the place in the array to begin at, so a search takes one or two steps.
 */
#ifndef SPROF_ADDRESS_SET_H
#define SPROF_ADDRESS_SET_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/search.h"

/* Zeroed is a valid empty set. */
struct address_set {
	const uint64_t *addresses; /* sorted, unique; the caller's, which must outlive the set */
	size_t nr;
	/* index of the first address at or after the start of each bucket; one more */
	uint32_t *buckets;
	size_t nr_buckets, capacity;
	unsigned shift; /* a bucket is 1 << shift bytes wide */
};

/* Replaces the content; `nr` is below 2^32. */
void address_set_fill(struct address_set *set, const uint64_t *addresses, size_t nr);
void address_set_fini(struct address_set *set);

/* Returns the index of the first address >= start; set->nr where there is none. */
static inline size_t address_set_find(const struct address_set *set, uint64_t start)
{
	size_t lo, hi, bucket;

	if (!set->nr || start <= set->addresses[0])
		return 0;
	if (start > set->addresses[set->nr - 1])
		return set->nr;
	bucket = (start - set->addresses[0]) >> set->shift;
	lo = set->buckets[bucket];
	hi = set->buckets[bucket + 1];
	return lo + SEARCH(i, hi - lo, set->addresses[lo + i] < start);
}

#endif
