/*
 * Computes changes, their margins of error, and the ranking of changed functions. flame_text.js has
 * the same formulas with the same order of operations, so that a picture says the same with and
 * without its script; a test compares them.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "output/tree/diff.h"

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/*
 * The margin of a difference of two proportions, by the method of Agresti and Caffo (Simple and
 * effective confidence intervals for proportions and differences of proportions, 2000): it adds one
 * success and one failure to each side, without which a few samples against none would look
 * certain.
 */
static double margin_of_shares(const struct diff *d, double before, double after)
{
	double nr_before = (double)d->whole_before.samples + 2;
	double nr_after = (double)d->whole_after.samples + 2;
	double p = (before + 1) / nr_before, q = (after + 1) / nr_after;

	return 1.96 * sqrt(p * (1 - p) / nr_before + q * (1 - q) / nr_after);
}

/*
 * The margin of a difference of values whose samples all weigh the same: the standard deviation of
 * their number is its square root (Poisson). Adds a sample to each side, like margin_of_shares().
 */
static double margin_of_amounts(const struct diff *d, double before, double after)
{
	double of_before = share(d->whole_before.value, d->whole_before.samples);
	double of_after = share(d->whole_after.value, d->whole_after.samples);

	return 1.96 *
	       sqrt((before + 1) * of_before * of_before + (after + 1) * of_after * of_after);
}

/* The margin where samples weigh differently: adds one of the largest deviation to each side. */
static double margin_of_values(const struct diff *d, const struct diff_amount *before,
			       const struct diff_amount *after)
{
	double x = (double)d->step_before, y = (double)d->step_after;

	return 1.96 *
	       sqrt(((double)before->equal + 1) * x * x + ((double)after->equal + 1) * y * y);
}

/*
 * The share of a part in a whole: a part that is known exactly still has an uncertain share, as the
 * rest is uncertain.
 */
static double variance_of_share(const struct diff_amount *part, const struct diff_amount *whole,
				uint64_t step)
{
	double s = share(part->value, whole->value), n = (double)part->equal;
	double rest = (double)whole->equal - n, unit = share(step, whole->value);

	return ((1 - s) * (1 - s) * (n + 1) + s * s * (rest + 1)) * unit * unit;
}

static double margin_of_unequal(const struct diff *d, const struct diff_amount *before,
				const struct diff_amount *after)
{
	return 1.96 * sqrt(variance_of_share(before, &d->whole_before, d->step_before) +
			   variance_of_share(after, &d->whole_after, d->step_after));
}

struct diff_change diff_compare(const struct diff *d, struct diff_amount before,
				struct diff_amount after)
{
	uint64_t whole = d->whole_before.value ? d->whole_before.value : d->whole_after.value;
	double was = (double)before.samples, is = (double)after.samples;
	struct diff_change c = {
		.before = share(before.value, whole),
		.after = share(after.value, d->absolute ? whole : d->whole_after.value),
	};

	if (d->exact)
		c.margin = 0;
	else if (d->has_variances && d->absolute)
		c.margin = whole ? margin_of_values(d, &before, &after) / (double)whole : 0;
	else if (d->absolute)
		c.margin = whole ? margin_of_amounts(d, was, is) / (double)whole : 0;
	else if (d->has_variances)
		c.margin = margin_of_unequal(d, &before, &after);
	else
		c.margin = margin_of_shares(d, was, is);
	c.change = c.after - c.before;
	c.significant = fabs(c.change) > c.margin;
	return c;
}

struct diff_change diff_total_of(const struct diff *d, uint32_t node)
{
	const struct tree_node *n = &d->tree->nodes[node];

	return diff_compare(d, d->before[node].total,
			    (struct diff_amount){ tree_total(d->tree, n),
						  tree_events_of(d->tree, n).total,
						  d->after[node].total });
}

struct diff_change diff_self_of(const struct diff *d, uint32_t node)
{
	const struct tree_node *n = &d->tree->nodes[node];

	return diff_compare(d, d->before[node].self,
			    (struct diff_amount){ tree_self(d->tree, n),
						  tree_events_of(d->tree, n).self,
						  d->after[node].self });
}

struct diff_change diff_removed(const struct diff *d)
{
	bool of_before = d->absolute || !d->whole_after.value;
	double whole = (double)(of_before ? d->whole_before.value : d->whole_after.value);
	double part = (double)d->removed_total[0] / ldexp(1, (int)d->width_shift);

	return (struct diff_change){ .change = whole > 0 ? -part / whole : 0 };
}

int diff_level(const struct diff_change *c)
{
	double size = fabs(c->change);
	int level = size >= .03 ? 4 : size >= .01 ? 3 : size >= .003 ? 2 : 1;

	if (!c->significant)
		return 0;
	return c->change < 0 ? -level : level;
}

struct diff_row *diff_sums(const struct diff *d)
{
	const struct tree *tree = d->tree;
	struct tree_sum *sums = tree_sums(tree);
	struct diff_row *rows = xcalloc(tree->functions.nr, sizeof(*rows));
	uint32_t *end = xcalloc(tree->functions.nr, sizeof(*end));

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		struct diff_row *row = &rows[n->function];

		diff_amount_add(&row->before.self, &d->before[i].self);
		row->after.self.equal += d->after[i].self;
		if (i < end[n->function])
			continue;
		end[n->function] = n->end;
		diff_amount_add(&row->before.total, &d->before[i].total);
		row->after.total.equal += d->after[i].total;
	}
	for (size_t i = 0; i < tree->functions.nr; i++) {
		struct diff_row *row = &rows[i];

		row->function = &tree->functions.list[i];
		row->after = (struct diff_side){
			{ sums[i].self, sums[i].self_samples, row->after.self.equal },
			{ sums[i].total, sums[i].total_samples, row->after.total.equal },
		};
		row->self = diff_compare(d, row->before.self, row->after.self);
		row->total = diff_compare(d, row->before.total, row->after.total);
	}
	free(sums);
	free(end);
	return rows;
}

static int compare_changes(const struct diff_change *x, const struct diff_change *y)
{
	return y->significant - x->significant ?: ORDER(fabs(y->change), fabs(x->change));
}

/* Functions lie in the order of names, so comparing pointers compares names. */
static int by_name(const struct diff_row *x, const struct diff_row *y)
{
	return ORDER(x->function, y->function);
}

static int compare_self(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;

	return compare_changes(&x->self, &y->self) ?: compare_changes(&x->total, &y->total)
	       ?: by_name(x, y);
}

static int compare_total(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;

	return compare_changes(&x->total, &y->total) ?: compare_changes(&x->self, &y->self)
	       ?: by_name(x, y);
}

struct diff_row *diff_rank(const struct diff *d, enum diff_key key, uint32_t *ret_nr)
{
	struct diff_row *rows = diff_sums(d);
	uint32_t nr = 0;

	/* Threads are listed only if they have self time, as in a ranking. */
	for (size_t i = 0; i < d->tree->functions.nr; i++)
		if (rows[i].function->kind != FUNCTION_THREAD || rows[i].before.self.samples ||
		    rows[i].after.self.samples)
			rows[nr++] = rows[i];
	qsort(rows, nr, sizeof(*rows), key == DIFF_SELF ? compare_self : compare_total);
	*ret_nr = nr;
	return rows;
}
