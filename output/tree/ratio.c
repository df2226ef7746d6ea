/*
 * Matches the functions of two trees of one profile by name, module and kind, because each tree has
 * numbers of its own for them.
 */
#include "output/tree/ratio.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/tree/tree.h"

struct sums_of {
	const struct tree_function *function;
	const struct tree_sum *sum;
};

static int compare(const void *a, const void *b)
{
	const struct tree_function *x = ((const struct sums_of *)a)->function;
	const struct tree_function *y = ((const struct sums_of *)b)->function;

	return strcmp(x->name, y->name) ?: strcmp(x->module, y->module)
	       ?: (int)x->kind - (int)y->kind;
}

static double divide(uint64_t value, uint64_t by, bool per_second)
{
	if (!by)
		return -1;
	return (double)value / (double)by * (per_second ? 1e9 : 1);
}

static void fill(struct tree_ratio *r, const struct tree *tree, const struct tree *per)
{
	size_t nr = per->functions.nr;
	struct tree_sum *sums = tree_sums(tree), *others = tree_sums(per);
	struct sums_of *sorted = xcalloc(nr + 1, sizeof(*sorted));

	for (size_t i = 0; i < nr; i++)
		sorted[i] = (struct sums_of){ &per->functions.list[i], &others[i] };
	qsort(sorted, nr, sizeof(*sorted), compare);
	for (size_t i = 0; i < tree->functions.nr; i++) {
		const struct sums_of key = { .function = &tree->functions.list[i] };
		const struct sums_of *found = bsearch(&key, sorted, nr, sizeof(key), compare);

		r->self[i] = divide(sums[i].self, found ? found->sum->self : 0, r->per_second);
		r->total[i] = divide(sums[i].total, found ? found->sum->total : 0, r->per_second);
	}
	free(sorted);
	free(others);
	free(sums);
}

int ratio_add(struct tree *tree, const struct profile *p, enum profile_column per)
{
	const struct tree_opts opts = { .column_given = true, .column = per };
	struct tree *other;
	struct tree_ratio *r;
	int err = tree_new(p, &opts, &other);

	if (err)
		return err;
	r = xcalloc(1, sizeof(*r));
	r->name = other->info->name;
	r->per_second = other->info->unit == UNIT_NS;
	r->self = xcalloc(tree->functions.nr + 1, sizeof(*r->self));
	r->total = xcalloc(tree->functions.nr + 1, sizeof(*r->total));
	fill(r, tree, other);
	tree_free(other);
	tree->ratio = r;
	return 0;
}

enum profile_column ratio_usual(const struct profile *p, enum profile_column column)
{
	unsigned int cycles = column_find_event(p, "cycles");

	if (cycles == NR_COLUMNS || column_find_event(p, "instructions") != column)
		return NR_COLUMNS;
	return (enum profile_column)cycles;
}

void ratio_add_value(struct buffer *b, double value)
{
	if (value < 0)
		buffer_add_char(b, '-');
	else
		buffer_printf(b, value >= 1000 ? "%.0f" : "%.3g", value);
}
