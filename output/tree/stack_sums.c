/* Adds up weights and events in one pass over the samples. */
#include "output/tree/stack_sums.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"

void stack_sums_init(struct stack_sums *sums, const struct profile *p, enum profile_column column)
{
	sums->weights = xcalloc(p->nr_stacks + 1, sizeof(*sums->weights));
	sums->samples = xcalloc(p->nr_stacks + 1, sizeof(*sums->samples));
	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		sums->weights[s->stack] += s->column == column ? s->weight : 0;
		sums->samples[s->stack] += column_events(p, column, s);
	}
}

void stack_sums_fini(struct stack_sums *sums)
{
	free(sums->weights);
	free(sums->samples);
	*sums = (struct stack_sums){ 0 };
}
