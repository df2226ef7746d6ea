/*
 * Adds up variances. Each block is sampled independently, so variances add up along the same tree
 * as the weights do: a second tree is built of a copy of the samples that weigh their variances.
 * Its functions have the numbers of the first one's, as both have the same stacks.
 */
#include "output/tree/margins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "output/tree/tree.h"

#define SUM_MOST 0x1p51 /* of the scaled variances; rounded up, they stay below TREE_MAX_TOTAL */
#define SIGMAS 1.96
#define STEPS 60

/* Finds x = s / interval, where x / (1 - exp(-x)) is the ratio, which grows with x from 1 on. */
static double bytes_of(double ratio)
{
	double from = 0, to = ratio;

	for (int i = 0; i < STEPS; i++) {
		double x = (from + to) / 2;

		if (x / -expm1(-x) < ratio)
			from = x;
		else
			to = x;
	}
	return to;
}

double margins_variance(uint64_t weight, bool is_count, uint64_t interval)
{
	double w = (double)weight, ratio = interval ? w / (double)interval : 0;

	if (is_count)
		return w * (w - 1);
	/* w is s / q, and the variance w^2 (1 - q). Where w is the interval, q is about 0. */
	return ratio <= 1 ? w * w : w * w * exp(-bytes_of(ratio));
}

/* Returns the largest interval that was used: the error is rather overstated than understated. */
static uint64_t interval_of_tensors(const struct profile *p)
{
	const struct fact_tensor_memory *rows;
	uint64_t interval = 0;
	size_t nr;

	rows = facts_rows(p, FACT_TENSOR_MEMORY, &nr);
	for (size_t i = 0; i < nr; i++)
		interval = rows[i].interval > interval ? rows[i].interval : interval;
	return interval;
}

static uint64_t interval_of(const struct profile *p, enum profile_column column)
{
	const struct fact_memory_sampled *rows;
	uint64_t interval = 0;
	size_t nr;

	if (column_is_tensors(column))
		return interval_of_tensors(p);
	rows = facts_rows(p, FACT_MEMORY_SAMPLED, &nr);
	for (size_t i = 0; i < nr; i++)
		interval =
			rows[i].greatest_interval > interval ? rows[i].greatest_interval : interval;
	return interval;
}

/*
 * Sets the weights of the column's samples to their variances, divided by the scale that it
 * returns. *ret_largest is the largest variance, not divided.
 */
static double scale_variances(struct profile_sample *samples, size_t nr, uint8_t column,
			      uint64_t interval, double *ret_largest)
{
	bool is_count = column_is_memory(column) && memory_part_of(column) % 2 == 1;
	double sum = 0, largest = 0, scale;

	for (size_t i = 0; i < nr; i++) {
		double variance = samples[i].column == column
					  ? margins_variance(samples[i].weight, is_count, interval)
					  : 0;

		sum += variance;
		largest = variance > largest ? variance : largest;
	}
	*ret_largest = largest;
	scale = sum > SUM_MOST ? sum / SUM_MOST : 1;
	for (size_t i = 0; i < nr; i++)
		if (samples[i].column == column)
			/* At least 1, so that both trees have the same functions. */
			samples[i].weight = 1 + (uint64_t)(margins_variance(samples[i].weight,
									    is_count, interval) /
							   scale);
	return scale;
}

void variances_init(struct variances *v, const struct profile *p, enum profile_column column)
{
	struct profile_sample *samples = xcalloc(p->nr_samples + 1, sizeof(*samples));

	*v = (struct variances){ .profile = *p };
	if (p->nr_samples)
		memcpy(samples, p->samples, p->nr_samples * sizeof(*samples));
	v->scale = scale_variances(samples, p->nr_samples, (uint8_t)column, interval_of(p, column),
				   &v->largest);
	v->profile.samples = samples;
}

void variances_fini(struct variances *v)
{
	free(v->profile.samples);
	*v = (struct variances){ 0 };
}

uint64_t variances_margin(const struct variances *v, uint64_t sum)
{
	return (uint64_t)llround(SIGMAS * sqrt((double)sum * v->scale));
}

static void add_nodes(struct tree_margins *m, const struct variances *v,
		      const struct tree *variances)
{
	size_t nr = variances->nr_nodes;

	m->step = v->largest > 1 ? (uint64_t)llround(sqrt(v->largest)) : 1;
	m->variances = xcalloc(nr, sizeof(*m->variances));
	m->node_self = xcalloc(nr, sizeof(*m->node_self));
	m->node_total = xcalloc(nr, sizeof(*m->node_total));
	for (size_t i = 0; i < nr; i++) {
		m->variances[i] = (double)tree_self(variances, &variances->nodes[i]) * v->scale;
		m->node_self[i] = variances_margin(v, tree_self(variances, &variances->nodes[i]));
		m->node_total[i] = variances_margin(v, tree_total(variances, &variances->nodes[i]));
	}
}

static struct tree_margins *margins_of(const struct variances *v, const struct tree *variances)
{
	struct tree_sum *sums = tree_sums(variances);
	struct tree_margins *m = xcalloc(1, sizeof(*m));
	size_t nr = variances->functions.nr;

	m->self = xcalloc(nr + 1, sizeof(*m->self));
	m->total = xcalloc(nr + 1, sizeof(*m->total));
	for (size_t i = 0; i < nr; i++) {
		m->self[i] = variances_margin(v, sums[i].self);
		m->total[i] = variances_margin(v, sums[i].total);
	}
	add_nodes(m, v, variances);
	m->whole = variances_margin(v, tree_total(variances, variances->nodes));
	free(sums);
	return m;
}

int margins_add(struct tree *tree, const struct profile *p, const struct tree_opts *opts)
{
	struct tree_opts same = { .without_modules = opts->without_modules,
				  .column_given = true,
				  .column = tree->column };
	struct tree *variances;
	struct variances v;
	int err;

	if (!memory_is_sampled(p, tree->column))
		return 0;
	variances_init(&v, p, tree->column);
	err = tree_new(&v.profile, &same, &variances);
	if (!err && variances->functions.nr == tree->functions.nr &&
	    variances->nr_nodes == tree->nr_nodes)
		tree->margins = margins_of(&v, variances);
	if (!err)
		tree_free(variances);
	variances_fini(&v);
	return err;
}
