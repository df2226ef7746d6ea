/*
 * Ranks functions. Ties are broken by the other sum and then by name, so the order is always the
 * same.
 */
#include "output/tree/ranking.h"

#include <stdlib.h>

#include "core/base/alloc.h"

static int descending(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Functions lie in the order of names, so comparing pointers compares names. */
static int by_name(const struct ranking_row *a, const struct ranking_row *b)
{
	return a->function < b->function ? -1 : a->function > b->function;
}

static int compare_self(const void *a, const void *b)
{
	const struct ranking_row *x = a, *y = b;
	int order = descending(x->sum.self, y->sum.self);

	if (!order)
		order = descending(x->sum.total, y->sum.total);
	return order ? order : by_name(x, y);
}

static int compare_total(const void *a, const void *b)
{
	const struct ranking_row *x = a, *y = b;
	int order = descending(x->sum.total, y->sum.total);

	if (!order)
		order = descending(x->sum.self, y->sum.self);
	return order ? order : by_name(x, y);
}

void ranking_init(struct ranking *r, const struct tree *tree, enum ranking_key key)
{
	struct tree_sum *sums = tree_sums(tree);

	*r = (struct ranking){ .rows = xcalloc(tree->functions.nr, sizeof(*r->rows)) };
	for (size_t i = 0; i < tree->functions.nr; i++) {
		const struct tree_function *f = &tree->functions.list[i];

		if (f->kind == FUNCTION_THREAD && !sums[i].self)
			continue;
		r->rows[r->nr_rows++] = (struct ranking_row){
			.function = f,
			.sum = sums[i],
			.gil = tree->gil ? tree->gil[i] : (struct tree_gil){ 0 },
			.self_ratio = tree->ratio ? tree->ratio->self[i] : -1,
			.total_ratio = tree->ratio ? tree->ratio->total[i] : -1,
		};
	}
	qsort(r->rows, r->nr_rows, sizeof(*r->rows),
	      key == RANKING_SELF ? compare_self : compare_total);
	free(sums);
}

void ranking_fini(struct ranking *r)
{
	free(r->rows);
	*r = (struct ranking){ 0 };
}

const char *ranking_kind_name(uint8_t kind)
{
	static const char *const names[NR_FUNCTION_KINDS] = {
		[FUNCTION_NATIVE] = "native",	[FUNCTION_KERNEL] = "kernel",
		[FUNCTION_JIT] = "jit",		[FUNCTION_MARKER] = "marker",
		[FUNCTION_THREAD] = "thread",	[FUNCTION_PYTHON] = "python",
		[FUNCTION_GPU] = "gpu",		[FUNCTION_RANGE] = "range",
		[FUNCTION_UNKNOWN] = "unknown", [FUNCTION_WAIT] = "wait",
	};

	return kind < NR_FUNCTION_KINDS ? names[kind] : "unknown";
}
