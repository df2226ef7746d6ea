/*
 * The sums of the samples of each stack, for views that visit each stack once rather than each
 * sample.
 */
#ifndef SPROF_STACK_SUMS_H
#define SPROF_STACK_SUMS_H

#include <stdint.h>

#include "core/profile/profile.h"

/* By stack; one entry more than p->nr_stacks, which is 0. */
struct stack_sums {
	uint64_t *weights; /* in the unit of the column */
	uint64_t *samples; /* column_events() */
};

void stack_sums_init(struct stack_sums *sums, const struct profile *p, enum profile_column column);
void stack_sums_fini(struct stack_sums *sums);

#endif
