/*
 * Names all frames and threads of a profile and walks over the functions of a stack, for outputs
 * that need names but no tree.
 */
#ifndef SPROF_NAMING_H
#define SPROF_NAMING_H

#include "output/tree/functions.h"

struct profile_stack;

/* As tree_functions_init(), for the frames of all stacks and all thread names. */
void naming_init(struct tree_functions *t, const struct profile *p);

/*
 * A walk over the functions of a stack, root first; a frame may be several. Set the first three
 * fields, leave the others 0, and read those after naming_next().
 */
struct naming_walk {
	const struct profile *p;
	const struct tree_functions *names;
	const struct profile_stack *stack;

	uint32_t frame; /* id in the profile */
	uint32_t index; /* of the function in its frame, 0 = outermost */
	uint32_t code;	/* of the function, see functions.h */
	uint32_t line;	/* where the function was, 0 = unknown */

	/* private */
	uint32_t next_frame, next_index;
};

/* Goes to the next function; false at the end of the stack. */
bool naming_next(struct naming_walk *walk);

/* By frame: is it in any stack? The caller frees the array. */
bool *naming_frames_used(const struct profile *p);

#endif
