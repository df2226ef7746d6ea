/*
 * mmap(2) gives out addresses downwards from below the lowest library, the heap grows upwards from
 * the program: so the ends of a gap stay free as far as possible.
 */
#include "sampler/alloc/near_gap.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/proc_maps.h"

#define REACH (7ull << 28) /* 1.75 GiB: a jump reaches 2 */
#define EDGE (32ull << 20) /* kept free at both ends of a gap */
#define STEP (64ull << 10)
#define LOWEST 0x100000ull
#define HIGHEST 0x7ffffffff000ull

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool reaches(uint64_t at, uint64_t size, uint64_t low, uint64_t high)
{
	return distance(at, low) < REACH && distance(at, high) < REACH &&
	       distance(at + size, low) < REACH && distance(at + size, high) < REACH;
}

/*
 * The place in a gap that is farthest from where mmap(2) goes on (its upper end) and can be
 * reached: counted from the lower end, or from as far below `high` as can be.
 */
static uint64_t place_in(uint64_t start, uint64_t end, uint64_t low, uint64_t high, uint64_t size)
{
	uint64_t first = start + EDGE, at;

	if (end - start < size + 2 * EDGE)
		return 0;
	if (high > REACH && first < high - REACH + size)
		first = high - REACH + size;
	at = (first + STEP - 1) & ~(STEP - 1);
	return at + size + EDGE <= end && reaches(at, size, low, high) ? at : 0;
}

uint64_t near_gap_choose(const struct address_range *used, size_t nr, uint64_t low, uint64_t high,
			 uint64_t size)
{
	uint64_t before = LOWEST, best = 0;

	for (size_t i = 0; i <= nr; i++) {
		uint64_t end = i < nr && used[i].start < HIGHEST ? used[i].start : HIGHEST, at = 0;

		if (end > before)
			at = place_in(before, end, low, high, size);
		if (at && (!best || distance(at, low) < distance(best, low)))
			best = at;
		if (i < nr && used[i].end > before)
			before = used[i].end;
	}
	return best;
}

uint64_t near_gap_find(pid_t pid, uint64_t low, uint64_t high, uint64_t size)
{
	struct address_range *used = NULL;
	FILE *f = remote_open(pid, "maps");
	size_t nr = 0, capacity = 0, line_size = 0;
	char *line = NULL;
	uint64_t at;

	while (f && getline(&line, &line_size, f) > 0) {
		struct file_mapping m = { .pid = pid };
		bool executable;

		if (!proc_maps_parse(line, &m, &executable))
			continue;
		used = xgrow(used, &capacity, nr + 1, sizeof(*used));
		used[nr++] = (struct address_range){ m.start, m.end };
	}
	at = nr ? near_gap_choose(used, nr, low, high, size) : 0;
	free(line);
	free(used);
	if (f)
		fclose(f);
	return at;
}
