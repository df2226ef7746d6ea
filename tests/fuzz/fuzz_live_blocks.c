/*
 * Makes any bytes samples of memory, as a recording can hold them, and compares the blocks that are
 * found, and the bytes in use over time, with a search through all of them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/live_blocks.h"
#include "core/profile/column.h"
#include "core/profile/profile.h"

#define MAX_SAMPLES 256
#define PART 8 /* bytes of the input for a sample */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t columns[] = { COLUMN_ALLOCATED, COLUMN_ALLOCATIONS, COLUMN_LIFETIME,
				   COLUMN_LIVE, COLUMN_CPU };

/* Times and weights are close together, so that they meet, or anything. */
static uint64_t number(const uint8_t *bytes)
{
	uint64_t n = bytes[1];

	return bytes[0] & 0x80 ? n << (bytes[0] & 63) : n;
}

static void add_sample(struct profile *p, const uint8_t *bytes, const uint32_t *stacks)
{
	const struct profile_sample s = {
		.column = columns[bytes[0] % sizeof(columns)],
		.thread = bytes[1] & 3,
		.stack = stacks[bytes[1] >> 2 & 1],
		.time_ns = number(bytes + 2),
		.weight = number(bytes + 4),
	};

	profile_add_sample(p, &s);
}

/* When the block that sample `i` stands for was freed: by the first lifetime that leads to it. */
static uint64_t end_of(const struct profile *p, size_t i)
{
	const struct profile_sample *block = &p->samples[i];

	for (size_t k = 0; k < p->nr_samples; k++) {
		const struct profile_sample *s = &p->samples[k];

		if (s->column == COLUMN_LIFETIME && s->thread == block->thread &&
		    s->stack == block->stack && s->weight <= s->time_ns &&
		    s->time_ns - s->weight == block->time_ns)
			return s->time_ns;
	}
	return LIVE_BLOCK_HELD;
}

static size_t check_blocks(const struct profile *p, const struct live_block *blocks, size_t nr)
{
	size_t nr_expected = 0;

	for (size_t i = 0; i < p->nr_samples; i++)
		nr_expected += column_is_allocated(p->samples[i].column);
	if (nr != nr_expected)
		abort();
	for (size_t i = 0; i < nr; i++)
		if (blocks[i].start_ns != p->samples[blocks[i].sample].time_ns ||
		    blocks[i].end_ns != end_of(p, blocks[i].sample))
			abort();
	return nr;
}

static uint64_t bytes_at(const struct profile *p, const struct live_block *blocks, size_t nr,
			 const struct live_want *want, uint64_t time_ns)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct profile_sample *s = &p->samples[blocks[i].sample];

		if (s->column == memory_column(want->kind, MEMORY_ALLOCATED) &&
		    blocks[i].start_ns <= time_ns &&
		    (blocks[i].end_ns > time_ns || blocks[i].end_ns == LIVE_BLOCK_HELD) &&
		    (!want->pid ||
		     (s->thread < p->nr_threads && p->threads[s->thread].pid == want->pid)))
			bytes += s->weight;
	}
	return bytes;
}

static void check_points(const struct profile *p, const struct live_block *blocks, size_t nr,
			 enum memory_kind kind, uint32_t pid)
{
	const struct live_want want = { kind, pid };
	size_t nr_points;
	struct live_point *points = live_points_new(p, blocks, nr, &want, &nr_points);

	for (size_t i = 0; i < nr_points; i++)
		if ((i && points[i].time_ns <= points[i - 1].time_ns) ||
		    points[i].bytes != bytes_at(p, blocks, nr, &want, points[i].time_ns))
			abort();
	free(points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = profile_new();
	struct live_block *blocks;
	uint32_t stacks[2], frame = profile_marker_frame(p, MARKER_UNKNOWN);
	size_t nr;

	stacks[0] = profile_stack(p, NULL, 0);
	stacks[1] = profile_stack(p, &frame, 1);
	profile_thread(p, 7, 7, profile_cstring(p, "one"));
	profile_thread(p, 8, 8, profile_cstring(p, "other"));
	for (size_t i = 0; i < MAX_SAMPLES && (i + 1) * PART <= size; i++)
		add_sample(p, data + i * PART, stacks);
	live_blocks_are_known(p);
	blocks = live_blocks_new(p, &nr);
	check_blocks(p, blocks, nr);
	for (int kind = 0; kind < NR_MEMORY_KINDS; kind++) {
		check_points(p, blocks, nr, (enum memory_kind)kind, 0);
		check_points(p, blocks, nr, (enum memory_kind)kind, 8);
	}
	free(blocks);
	profile_free(p);
	return 0;
}
