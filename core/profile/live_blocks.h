/*
 * The sampled blocks of memory of a profile, from their allocation until they were freed. A sample
 * of COLUMN_LIFETIME ends the blocks whose samples have its thread, its stack, and the time that
 * its weight leads back to.
 */
#ifndef SPROF_LIVE_BLOCKS_H
#define SPROF_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

#define LIVE_BLOCK_HELD UINT64_MAX /* the end of a block that was not freed */

struct live_block {
	uint32_t sample; /* in a column of allocated bytes or of allocations */
	uint64_t start_ns, end_ns;
};

/*
 * Does the profile know when blocks were freed? Imported heap profiles do not, nor do profiles
 * without samples of memory.
 */
bool live_blocks_are_known(const struct profile *p);

/*
 * Returns the blocks, in no particular order: a block has an element for its bytes and one for its
 * count. The caller frees the array.
 */
struct live_block *live_blocks_new(const struct profile *p, size_t *ret_nr);

/* Bytes in use from a moment on. */
struct live_point {
	uint64_t time_ns, bytes;
};

/* Selects blocks by the kind of memory and the process; pid 0: all processes. */
struct live_want {
	enum memory_kind kind;
	uint32_t pid;
};

/*
 * Returns the bytes that the wanted blocks had in use over time, a point for each change. The
 * caller frees the array.
 */
struct live_point *live_points_new(const struct profile *p, const struct live_block *blocks,
				   size_t nr, const struct live_want *want, size_t *ret_nr);

#endif
