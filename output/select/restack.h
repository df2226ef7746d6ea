/*
 * Rewrites the stacks of a profile function by function, for filters, directions and dimensions.
 * Samples keep their weight. Those that are removed are added up in profile.filtered, so that every
 * output can say how much is missing.
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
	uint32_t location; /* index in the frame; PART_WHOLE: all its functions */
	uint32_t function; /* in tree_functions.list */
};

/*
 * Rewrites a stack in place. `parts` are its functions, root first; they may be removed, replaced
 * and reordered, and there is room for one more. Returns false to remove the samples of the stack.
 */
typedef bool restack_fn(void *context, struct stack_part *parts, size_t *nr);

/* Calls fn for every stack that has samples. `names` is of this profile, from naming_init(). */
void restack(struct profile *p, const struct tree_functions *names, restack_fn *fn, void *context);

/* Keeps the samples for which `keep` is true, in their order. */
void restack_samples(struct profile *p,
		     bool (*keep)(void *context, const struct profile_sample *sample),
		     void *context);

#endif
