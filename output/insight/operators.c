/*
 * An operator is entered by its call() or redispatch(); what runs below belongs to it until another one is
 * called. The names are the classes that PyTorch's code generator makes: "add_Tensor" is aten::add.Tensor.
 */
#include "output/insight/operators.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/report/grid.h"
#include "output/tree/groups.h"
#include "output/report/table_json.h"
#include "output/tree/summary.h"
#include "output/report/table.h"
#include "output/tree/tree.h"

struct operator_row {
	const char *name; /* in the name of a function; not ended */
	size_t size;
	uint32_t function; /* of the tree */
	struct group_sum sum;
};

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

const char *operator_name(const char *function, size_t *ret_size)
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

static int compare_names(const void *a, const void *b)
{
	const struct operator_row *x = a, *y = b;
	size_t n = x->size < y->size ? x->size : y->size;
	int order = memcmp(x->name, y->name, n);

	return order ? order : x->size < y->size ? -1 : x->size > y->size;
}

/* A group per name. Returns how many rows there are; row i is group i + 1. */
static size_t group(const struct tree *tree, struct operator_row *rows, uint32_t *group_of)
{
	size_t nr = 0, kept = 0;

	for (uint32_t i = 1; i < tree->functions.nr; i++) {
		const struct tree_function *f = &tree->functions.list[i];

		if (f->kind != FUNCTION_NATIVE)
			continue;
		rows[nr].name = operator_name(f->name, &rows[nr].size);
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

static int descending(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int by_self(const void *a, const void *b)
{
	const struct operator_row *x = a, *y = b;
	int order = descending(x->sum.self, y->sum.self);

	if (!order)
		order = descending(x->sum.total, y->sum.total);
	return order ? order : compare_names(a, b);
}

static int by_total(const void *a, const void *b)
{
	const struct operator_row *x = a, *y = b;
	int order = descending(x->sum.total, y->sum.total);

	if (!order)
		order = descending(x->sum.self, y->sum.self);
	return order ? order : compare_names(a, b);
}

static void fill(struct grid *g, const struct operator_row *rows, size_t nr,
		 const struct summary *s)
{
	for (size_t i = 0; i < nr; i++) {
		char *name;

		if (!rows[i].sum.total)
			continue;
		name = xasprintf("%.*s", (int)rows[i].size, rows[i].name);
		grid_share(g, rows[i].sum.self, s->total);
		grid_value(g, s->column, rows[i].sum.self);
		grid_share(g, rows[i].sum.total, s->total);
		grid_value(g, s->column, rows[i].sum.total);
		grid_events(g, rows[i].sum.total_samples, s);
		grid_text(g, name);
		free(name);
	}
}

bool operators_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		     const struct operators_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "self_percent", "Self%", false },   { "self", "Self", false },
		{ "total_percent", "Total%", false }, { "total", "Total", false },
		{ "samples", "Samples", false },      { "name", "Operator", true },
	};
	struct operator_row *rows = xcalloc(tree->functions.nr + 1, sizeof(*rows));
	uint32_t *group_of = xcalloc(tree->functions.nr, sizeof(*group_of));
	size_t nr = group(tree, rows, group_of);
	struct group_sum *sums = groups_add_up(tree, group_of, (uint32_t)nr + 1);
	struct grid g;

	for (size_t i = 0; i < nr; i++)
		rows[i].sum = sums[i + 1];
	qsort(rows, nr, sizeof(*rows), opts->by_total ? by_total : by_self);
	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	g.max_width = opts->columns;
	g.unicode = opts->unicode;
	fill(&g, rows, nr, summary);
	if (nr && opts->json) {
		report_json_write_grid(b, summary, "op", &g, opts->max_rows);
	} else if (nr) {
		table_add_head(b, summary);
		grid_write_text(b, &g, opts->max_rows);
	}
	grid_fini(&g);
	free(sums);
	free(group_of);
	free(rows);
	return nr > 0;
}
