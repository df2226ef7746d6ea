/*
 * Sorts the indices of samples by the ids of stack, thread and labels; a group ends where one
 * of them changes.
 */
#include "output/export/stack_groups.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/profile/profile.h"

static int compare_samples(const void *a, const void *b, void *samples)
{
	const struct profile_sample *x = (struct profile_sample *)samples + *(const uint32_t *)a;
	const struct profile_sample *y = (struct profile_sample *)samples + *(const uint32_t *)b;

	return ORDER(x->stack, y->stack) ?: ORDER(x->thread, y->thread)
	       ?: ORDER(x->labels, y->labels);
}

uint32_t *stack_groups_order(const struct profile *p)
{
	uint32_t *order = xcalloc(p->nr_samples + 1, sizeof(*order));

	for (uint32_t i = 0; i < p->nr_samples; i++)
		order[i] = i;
	qsort_r(order, p->nr_samples, sizeof(*order), compare_samples, p->samples);
	return order;
}

size_t stack_groups_end(const struct profile *p, const uint32_t *order, size_t first)
{
	size_t end = first + 1;

	while (end < p->nr_samples && !compare_samples(&order[first], &order[end], p->samples))
		end++;
	return end;
}
