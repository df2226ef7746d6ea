/* A subtree is a range of nodes, so sums from the first node on say what lies below any of them. */
#include "output/insight/split.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/report/grid.h"
#include "output/report/table_json.h"
#include "output/tree/summary.h"
#include "output/report/table.h"

typedef uint64_t ends_of[NR_SPLIT_ENDS];

static enum split_end end_of(const struct tree_function *f)
{
	/* The kernel is the kernel, also where it hides the names of its functions. */
	if (f->kind == FUNCTION_UNKNOWN && !strncmp(f->module, "[kernel", 7))
		return SPLIT_KERNEL;
	switch (f->kind) {
	case FUNCTION_PYTHON: return SPLIT_PYTHON;
	case FUNCTION_KERNEL: return SPLIT_KERNEL;
	case FUNCTION_GPU: return SPLIT_GPU;
	default: return SPLIT_NATIVE;
	}
}

uint64_t (*split_ends(const struct tree *tree))[NR_SPLIT_ENDS]
{
	ends_of *before = xcalloc((size_t)tree->nr_nodes + 1, sizeof(*before));
	ends_of *ends = xcalloc(tree->functions.nr, sizeof(*ends));
	uint32_t *active_end = xcalloc(tree->functions.nr, sizeof(*active_end));

	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		memcpy(before[i + 1], before[i], sizeof(before[i]));
		before[i + 1][end_of(tree_function_of(tree, i))] += tree->nodes[i].self;
	}
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];

		if (i < active_end[n->function])
			continue;
		active_end[n->function] = n->end;
		for (int e = 0; e < NR_SPLIT_ENDS; e++)
			ends[n->function][e] += before[n->end][e] - before[i][e];
	}
	free(before);
	free(active_end);
	return ends;
}

static void add_row(struct grid *g, const struct summary *s, const struct ranking_row *row,
		    const uint64_t *ends)
{
	const struct tree_function *f = row->function;

	grid_share(g, row->sum.self, s->total);
	grid_share(g, row->sum.total, s->total);
	grid_value(g, s->column, row->sum.total);
	for (int e = 0; e < NR_SPLIT_ENDS; e++)
		grid_share(g, ends[e], row->sum.total);
	for (int e = 0; e < NR_SPLIT_ENDS; e++)
		grid_count(g, ends[e]);
	grid_text(g, f->name);
	grid_text(g, f->module);
	grid_text(g, f->file);
	grid_count(g, f->line);
}

/* What no time ended in has no column. */
static void hide_empty(struct grid_column *columns, const uint64_t *whole)
{
	for (int e = 0; e < NR_SPLIT_ENDS; e++)
		if (!whole[e])
			columns[e].heading = NULL;
}

void split_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 const struct split_opts *opts)
{
	struct grid_column columns[] = {
		{ "self_percent", "Self%", false },
		{ "total_percent", "Total%", false },
		{ "total", "Total", false },
		{ "python_percent", "Python", false },
		{ "native_percent", "Native", false },
		{ "kernel_percent", "Kernel", false },
		{ "gpu_percent", "GPU", false },
		{ "python", NULL, false },
		{ "native", NULL, false },
		{ "kernel", NULL, false },
		{ "gpu", NULL, false },
		{ "function", "Function", true },
		{ "module", NULL, true },
		{ "file", NULL, true },
		{ "line", NULL, false },
	};
	static const char *const spare[] = { "total", "self_percent", NULL };
	ends_of *ends = split_ends(tree);
	const struct tree_node *root = &tree->nodes[0];
	const struct ranking_row whole = {
		.function = &tree->functions.list[0],
		.sum = { .self = root->self, .total = root->total },
	};
	struct ranking ranking;
	struct grid g;

	hide_empty(&columns[3], ends[0]);
	ranking_init(&ranking, tree, opts->key);
	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	g.spare = spare;
	g.max_width = opts->columns;
	g.unicode = opts->unicode;
	add_row(&g, summary, &whole, ends[0]);
	for (uint32_t i = 0; i < ranking.nr_rows; i++)
		if (ranking.rows[i].function != whole.function)
			add_row(&g, summary, &ranking.rows[i],
				ends[ranking.rows[i].function - tree->functions.list]);
	if (opts->json) {
		report_json_write_grid(b, summary, "split", &g, opts->max_rows);
	} else {
		table_add_head(b, summary);
		grid_write_text(b, &g, opts->max_rows);
	}
	grid_fini(&g);
	ranking_fini(&ranking);
	free(ends);
}
