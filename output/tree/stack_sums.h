/* What the samples of each stack weigh, for views that look at a stack once and not at each sample of it. */
#ifndef SPROF_STACK_SUMS_H
#define SPROF_STACK_SUMS_H

#include <stdint.h>

#include "core/profile/profile.h"

/* By number of the stack; p->nr_stacks and one that is 0. */
struct stack_sums {
	uint64_t *weights; /* in the unit of the column */
	uint64_t *samples; /* column_events() */
};

/* The caller frees it by stack_sums_fini(). */
void stack_sums_init(struct stack_sums *sums, const struct profile *p, enum profile_column column);
void stack_sums_fini(struct stack_sums *sums);

#endif
