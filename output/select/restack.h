/*
 * Changes the stacks of a profile, function by function: what filters, inversions and groupings are made
 * of. Samples keep their weight; the ones that are left out are added up, so that every output can say
 * how much is missing.
 */
#ifndef SPROF_RESTACK_H
#define SPROF_RESTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_sample;
struct tree_functions;

#define PART_WHOLE UINT32_MAX

/* One function on a stack. */
struct stack_part {
	uint32_t frame;
	uint32_t location; /* in the frame, from 0 on; PART_WHOLE: all that the frame stands for */
	uint32_t function; /* in tree_functions.list */
};

/*
 * Says what becomes of a stack: `parts` are its functions, root first, and may be removed, replaced and
 * put in another order; there is room for one more than there were. False leaves out the samples.
 */
typedef bool restack_fn(void *context, struct stack_part *parts, size_t *nr);

/* Asks for every stack that has samples. `names` are of this profile, by naming_init(). */
void restack(struct profile *p, const struct tree_functions *names, restack_fn *fn, void *context);

/* Keeps the samples for which `keep` is true, in their order. */
void restack_samples(struct profile *p,
		     bool (*keep)(void *context, const struct profile_sample *sample),
		     void *context);

#endif
