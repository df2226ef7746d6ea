/*
 * Writes the split of functions by kind of code as a table. The text leaves out kinds in which no
 * time ended; JSON always has all of them.
 */
#include "output/insight/split.h"

#include <stdlib.h>

#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/tree/ranking.h"
#include "output/tree/summary.h"
#include "output/tree/tree.h"

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

/* Leaves out the columns of kinds without time. */
static void hide_empty(struct grid_column *columns, const uint64_t *whole)
{
	for (int e = 0; e < NR_SPLIT_ENDS; e++)
		if (!whole[e])
			columns[e].heading = NULL;
}

void split_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 enum ranking_key key, const struct grid_report_opts *opts)
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
	uint64_t(*ends)[NR_SPLIT_ENDS] = split_ends(tree);
	const struct tree_node *root = &tree->nodes[0];
	const struct ranking_row whole = {
		.function = &tree->functions.list[0],
		.sum = { .self = tree_self(tree, root), .total = tree_total(tree, root) },
	};
	struct ranking ranking;
	struct grid g;

	hide_empty(&columns[3], ends[0]);
	ranking_init(&ranking, tree, key);
	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	g.spare = spare;
	add_row(&g, summary, &whole, ends[0]);
	for (uint32_t i = 0; i < ranking.nr_rows; i++)
		if (ranking.rows[i].function != whole.function)
			add_row(&g, summary, &ranking.rows[i],
				ends[ranking.rows[i].function - tree->functions.list]);
	grid_report_write(b, &g, summary, "split", opts);
	grid_fini(&g);
	ranking_fini(&ranking);
	free(ends);
}
