/*
 * The samples of one process: taken from its ring, handed to the sink as allocated memory, and kept
 * as long as their blocks may be live.
 */
#ifndef SPROF_ALLOC_SAMPLES_H
#define SPROF_ALLOC_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

struct alloc_samples;
struct alloc_target;
struct sink;

struct alloc_samples *alloc_samples_new(void);
void alloc_samples_free(struct alloc_samples *samples); /* NULL is fine */

/* Takes what is in the ring. Returns how many draws it took. */
uint64_t alloc_samples_drain(struct alloc_target *target, struct sink *sink);
/*
 * The same for the last time: the target has ended, or its hooks are off. Writes the blocks that
 * are in the table of live ones as live at `end_ns`.
 */
void alloc_samples_finish(struct alloc_target *target, uint64_t end_ns, struct sink *sink);
/* Tells the sink that memory of this process is sampled, and how well. */
void alloc_samples_tell(const struct alloc_target *target, struct sink *sink);
/* Draws that were dropped for lack of space, or that the target has spoilt. */
uint64_t alloc_samples_nr_lost(const struct alloc_target *target);
/* Were there more, nobody knows how many? Behind a record without an end nothing can be found. */
bool alloc_samples_lost_more(const struct alloc_target *target);

/*
 * What a sampled allocation stands for. An allocation of `size` bytes is sampled with probability
 * 1 - exp(-size / interval), so its weight in bytes is size divided by that; a weight that is no
 * whole number is rounded up or down at random, by `number`, so that sums stay unbiased.
 */
struct alloc_weight {
	uint64_t bytes, count;
};
struct alloc_weight alloc_weight_of(uint64_t size, uint64_t interval, uint64_t number);

#endif
