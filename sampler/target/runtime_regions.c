/*
 * Regions are a sorted array of disjoint ranges. Each region and each past one is a user of its
 * rows; rows without users are freed by their set, after a while.
 */
#include "sampler/target/runtime_regions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/search.h"

/* How long a map table that names rows may still be in use after their last user. */
#define GRACE_NS (2000ull * 1000 * 1000)

static void use(struct runtime_rows *rows)
{
	rows->nr_users++;
}

static void unuse(struct runtime_rows *rows)
{
	if (!--rows->nr_users)
		rows->free_at_ns = monotonic_ns() + GRACE_NS;
}

size_t runtime_regions_lower_bound(const struct runtime_regions *regions, uint64_t address)
{
	return SEARCH(i, regions->nr, regions->list[i].end <= address);
}

struct runtime_region *runtime_regions_find(const struct runtime_regions *regions, uint64_t address)
{
	size_t i = runtime_regions_lower_bound(regions, address);

	return i < regions->nr && regions->list[i].start <= address ? &regions->list[i] : NULL;
}

void runtime_region_drop_rows(struct runtime_region *region)
{
	if (region->rows)
		unuse(region->rows);
	region->rows = NULL;
}

struct runtime_region *runtime_regions_put(struct runtime_regions *regions,
					   const struct runtime_region *region)
{
	size_t first = runtime_regions_lower_bound(regions, region->start), last = first;

	for (; last < regions->nr && regions->list[last].start < region->end; last++)
		runtime_region_drop_rows(&regions->list[last]);
	regions->list =
		xgrow(regions->list, &regions->capacity, regions->nr + 1, sizeof(*regions->list));
	memmove(&regions->list[first + 1], &regions->list[last],
		(regions->nr - last) * sizeof(*regions->list));
	regions->list[first] = *region;
	regions->nr += 1 - (last - first);
	return &regions->list[first];
}

void runtime_regions_outdate(struct runtime_regions *regions, struct runtime_region *region,
			     struct runtime_past past)
{
	past.start = region->start;
	past.end = region->end;
	past.rows = region->rows;
	regions->past = xgrow(regions->past, &regions->past_capacity, regions->nr_past + 1,
			      sizeof(*regions->past));
	regions->past[regions->nr_past++] = past;
	region->rows = NULL;
	region->hash = 0;
}

void runtime_regions_forget_past(struct runtime_regions *regions, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < regions->nr_past; i++) {
		if (regions->past[i].until_ns < now)
			unuse(regions->past[i].rows);
		else
			regions->past[kept++] = regions->past[i];
	}
	regions->nr_past = kept;
}

void runtime_regions_copy(struct runtime_regions *to, const struct runtime_regions *from)
{
	*to = *from;
	to->capacity = from->nr;
	to->list = xcalloc(from->nr, sizeof(*to->list));
	for (size_t i = 0; i < from->nr; i++) {
		to->list[i] = from->list[i];
		if (to->list[i].rows)
			use(to->list[i].rows);
	}
	to->past_capacity = from->nr_past;
	to->past = xcalloc(from->nr_past, sizeof(*to->past));
	for (size_t i = 0; i < from->nr_past; i++) {
		to->past[i] = from->past[i];
		use(to->past[i].rows);
	}
}

void runtime_regions_clear(struct runtime_regions *regions)
{
	for (size_t i = 0; i < regions->nr; i++)
		runtime_region_drop_rows(&regions->list[i]);
	for (size_t i = 0; i < regions->nr_past; i++)
		unuse(regions->past[i].rows);
	free(regions->past);
	free(regions->list);
	*regions = (struct runtime_regions){ 0 };
}
