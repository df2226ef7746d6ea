/*
 * Ranks functions. Ties are broken by the other sum and then by name, so the order is always the
 * same.
 */
#include "output/tree/ranking.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/order.h"

int ranking_order(enum ranking_key key, uint64_t self_a, uint64_t total_a, uint64_t self_b,
		  uint64_t total_b)
{
	int by_self = ORDER(self_b, self_a);
	int by_total = ORDER(total_b, total_a);

	if (key == RANKING_SELF)
		return by_self ? by_self : by_total;
	return by_total ? by_total : by_self;
}

/* Functions lie in the order of names, so comparing pointers compares names. */
static int compare_rows(const void *a, const void *b, void *key)
{
	const struct ranking_row *x = a, *y = b;

	return ranking_order(*(enum ranking_key *)key, x->sum.self, x->sum.total, y->sum.self,
			     y->sum.total)
		       ?: ORDER(x->function, y->function);
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
	qsort_r(r->rows, r->nr_rows, sizeof(*r->rows), compare_rows, &key);
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
