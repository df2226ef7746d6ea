/*
 * The bucket width is a power of two, chosen so that there are about two buckets for each address.
 */
#include "symbolizer/lookup/address_set.h"

#include <stdlib.h>

#include "core/base/alloc.h"

void address_set_fill(struct address_set *set, const uint64_t *addresses, size_t nr)
{
	uint64_t width;
	size_t at = 0;

	set->addresses = addresses;
	set->nr = nr;
	set->shift = 0;
	if (!nr)
		return;
	width = addresses[nr - 1] - addresses[0];
	while (width >> set->shift >= 2 * nr)
		set->shift++;
	set->nr_buckets = (size_t)(width >> set->shift) + 1;
	set->buckets =
		xgrow(set->buckets, &set->capacity, set->nr_buckets + 1, sizeof(*set->buckets));
	for (size_t i = 0; i < set->nr_buckets; i++) {
		while (at < nr && (addresses[at] - addresses[0]) >> set->shift < i)
			at++;
		set->buckets[i] = (uint32_t)at;
	}
	set->buckets[set->nr_buckets] = (uint32_t)nr;
}

void address_set_fini(struct address_set *set)
{
	free(set->buckets);
	*set = (struct address_set){ 0 };
}
