/*
 * What a hint says beside its share: which thread held Python's GIL, and what the workers of a
 * DataLoader did meanwhile.
 */
#ifndef SPROF_HINT_EVIDENCE_H
#define SPROF_HINT_EVIDENCE_H

#include <stdint.h>

#include "output/hints/hints.h"
#include "output/tree/functions.h"

/* What is known of the stacks of a profile. All arrays are by stack. */
struct hint_stacks {
	const struct profile *p;
	const struct tree_functions *names;
	const uint32_t *marks;	   /* of all functions of the stack */
	const uint32_t *innermost; /* function of the program; 0: none */
};

/* Fills in the holder of the GIL, running or waiting. */
void hint_find_holder(const struct hint_stacks *stacks, struct hint *hint);
/* Fills in the workers, which are processes with a thread in a worker's loop. */
void hint_find_workers(const struct hint_stacks *stacks, struct hint *hint);

#endif
