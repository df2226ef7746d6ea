/*
 * Groups functions by operator. An operator is entered by its call() or redispatch(); everything
 * that runs below belongs to it until another operator is called. The names are those of classes
 * that PyTorch's code generator makes: "add_Tensor" is aten::add.Tensor.
 */
#include "output/insight/operators.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "output/tree/tree.h"

static bool is_entry(const char *s)
{
	static const char *const entries[] = { "call", "redispatch", "apply" };

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		size_t n = strlen(entries[i]);

		if (!strncmp(s, entries[i], n) && (!s[n] || s[n] == '('))
			return true;
	}
	return false;
}

const char *operators_name(const char *function, size_t *ret_size)
{
	static const char *const scopes[] = { "at::_ops::", "torch::autograd::generated::" };

	for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++) {
		const char *name = function + strlen(scopes[i]), *end;

		if (strncmp(function, scopes[i], strlen(scopes[i])))
			continue;
		end = strstr(name, "::");
		if (!end || end == name || !is_entry(end + 2))
			return NULL;
		*ret_size = (size_t)(end - name);
		return name;
	}
	return NULL;
}

size_t operators_range_length(const char *name)
{
	static const char *const suffixes[] = { ", seq = ", ", op_id = ", ", sizes = ",
						", input_op_ids = ", ", stashed seq = " };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const char *at = strstr(name, suffixes[i]);

		if (at && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

static int compare_names(const void *a, const void *b)
{
	const struct operator_row *x = a, *y = b;
	size_t n = x->size < y->size ? x->size : y->size;

	return memcmp(x->name, y->name, n) ?: ORDER(x->size, y->size);
}

/* Makes one group per name. Returns the number of rows; row i is group i + 1. */
static size_t group(const struct tree *tree, struct operator_row *rows, uint32_t *group_of)
{
	size_t nr = 0, kept = 0;

	for (uint32_t i = 1; i < tree->functions.nr; i++) {
		const struct tree_function *f = &tree->functions.list[i];

		if (f->kind != FUNCTION_NATIVE)
			continue;
		rows[nr].name = operators_name(f->name, &rows[nr].size);
		rows[nr].function = i;
		nr += rows[nr].name != NULL;
	}
	qsort(rows, nr, sizeof(*rows), compare_names);
	for (size_t i = 0; i < nr; i++) {
		if (!kept || compare_names(&rows[kept - 1], &rows[i]))
			rows[kept++] = rows[i];
		group_of[rows[i].function] = (uint32_t)kept;
	}
	return kept;
}

static int compare_rows(const void *a, const void *b, void *key)
{
	const struct operator_row *x = a, *y = b;

	return ranking_order(*(enum ranking_key *)key, x->sum.self, x->sum.total, y->sum.self,
			     y->sum.total)
		       ?: compare_names(a, b);
}

void operators_init(struct operators *operators, const struct tree *tree, enum ranking_key key)
{
	struct operator_row *rows = xcalloc(tree->functions.nr + 1, sizeof(*rows));
	uint32_t *group_of = xcalloc(tree->functions.nr, sizeof(*group_of));
	size_t nr = group(tree, rows, group_of);
	struct group_sum *sums = groups_add_up(tree, group_of, (uint32_t)nr + 1);

	for (size_t i = 0; i < nr; i++)
		rows[i].sum = sums[i + 1];
	qsort_r(rows, nr, sizeof(*rows), compare_rows, &key);
	*operators = (struct operators){ .rows = rows, .nr = nr };
	free(sums);
	free(group_of);
}

void operators_fini(struct operators *operators)
{
	free(operators->rows);
	*operators = (struct operators){ 0 };
}
