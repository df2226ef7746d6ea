/*
 * What a range of time changed in the GPU memory of tensors (sprof record --alloc=tensor). It
 * counts by time: blocks of all threads of the process, as a backward pass allocates in a thread
 * of its own. Blocks from before the recording are not known, nor is that they were freed.
 */
#ifndef SPROF_RANGE_MEMORY_H
#define SPROF_RANGE_MEMORY_H

#include <stdint.h>

struct profile;
struct range_memory;

/* NULL: the profile has no GPU memory of tensors. It must outlive the result. */
struct range_memory *range_memory_new(const struct profile *p);
void range_memory_free(struct range_memory *m); /* NULL is fine */

/*
 * What was allocated less what was freed after `from_ns` and until `to_ns`, and the most that was
 * in use in that time above what was at its start.
 */
void range_memory_of(const struct range_memory *m, uint64_t pid, uint64_t from_ns, uint64_t to_ns,
		     int64_t *ret_net, uint64_t *ret_peak);

#endif
