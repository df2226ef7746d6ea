/*
 * Ranges take 16 bytes each: addresses are 32-bit offsets from the lowest executable segment.
 */
#include "sampler/unwind/text_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/search.h"
#include "core/portable/walk.h"

#define MAX_TEXT_SIZE (UINT32_MAX - 2 * WALK_PAGE_SIZE) /* offsets in text are 32 bits */

int text_ranges_init(struct text_ranges *ranges, const struct unwind_image *image)
{
	*ranges = (struct text_ranges){ .low = UINT64_MAX };
	for (size_t i = 0; i < image->nr_segments; i++) {
		const struct unwind_segment *segment = &image->segments[i];

		if (!segment->executable)
			continue;
		if (segment->vaddr < ranges->low)
			ranges->low = segment->vaddr;
		if (segment->vaddr + segment->size > ranges->high)
			ranges->high = segment->vaddr + segment->size;
	}
	if (ranges->low >= ranges->high)
		return -ENODATA;
	/* some linkers put constants and symbols into the executable segment */
	if (image->code_start < ranges->high && image->code_end > ranges->low &&
	    image->code_start < image->code_end) {
		if (ranges->low < image->code_start)
			ranges->low = image->code_start;
		if (ranges->high > image->code_end)
			ranges->high = image->code_end;
	}
	return ranges->high - ranges->low > MAX_TEXT_SIZE ? -EFBIG : 0;
}

void text_ranges_collect(struct text_ranges *ranges, struct eh_reader *reader, uint32_t flag)
{
	struct eh_fde fde;

	while (eh_reader_next(reader, &fde)) {
		const struct text_range range = {
			.start = (uint32_t)(fde.start - ranges->low),
			.length = (uint32_t)fde.length,
			.cie = (uint32_t)fde.cie | flag,
			.fde = (uint32_t)fde.offset,
		};

		if (!fde.length || !fde.start)
			continue;
		if (fde.start < ranges->low || fde.start + fde.length > ranges->high)
			reader->nr_broken++;
		else
			text_ranges_add(ranges, &range);
	}
}

void text_ranges_fini(struct text_ranges *ranges)
{
	free(ranges->ranges);
	ranges->ranges = NULL;
	ranges->nr = ranges->capacity = 0;
}

void text_ranges_add(struct text_ranges *ranges, const struct text_range *range)
{
	ranges->ranges =
		xgrow(ranges->ranges, &ranges->capacity, ranges->nr + 1, sizeof(*ranges->ranges));
	ranges->ranges[ranges->nr++] = *range;
}

static bool is_sorted(const struct text_ranges *ranges)
{
	for (size_t i = 1; i < ranges->nr; i++) {
		if (ranges->ranges[i].start < ranges->ranges[i - 1].start)
			return false;
	}
	return true;
}

/* A radix sort: ten times as fast as qsort() for the 100 000 functions of a large library. */
void text_ranges_sort(struct text_ranges *ranges)
{
	enum { BITS = 11, BUCKETS = 1 << BITS };
	struct text_range *from = ranges->ranges, *to;

	if (is_sorted(ranges))
		return;
	to = xreallocarray(NULL, ranges->capacity, sizeof(*to));
	for (unsigned int shift = 0; shift < 32; shift += BITS) {
		size_t offsets[BUCKETS + 1] = { 0 };
		struct text_range *swap = from;

		for (size_t i = 0; i < ranges->nr; i++)
			offsets[(from[i].start >> shift & (BUCKETS - 1)) + 1]++;
		for (size_t i = 1; i <= BUCKETS; i++)
			offsets[i] += offsets[i - 1];
		for (size_t i = 0; i < ranges->nr; i++)
			to[offsets[from[i].start >> shift & (BUCKETS - 1)]++] = from[i];
		from = to;
		to = swap;
	}
	ranges->ranges = from;
	free(to);
}

const struct text_range *text_ranges_before(const struct text_ranges *ranges, uint64_t offset)
{
	size_t nr = SEARCH(i, ranges->nr, ranges->ranges[i].start <= offset);

	return nr ? &ranges->ranges[nr - 1] : NULL;
}

const struct text_range *text_ranges_find(const struct text_ranges *ranges, uint64_t vaddr)
{
	uint64_t offset = vaddr - ranges->low;
	const struct text_range *range = text_ranges_before(ranges, offset);

	return range && offset - range->start < range->length ? range : NULL;
}
