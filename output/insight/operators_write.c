/* Writes the operators of PyTorch that were found on stacks as a table, as text or JSON. */
#include "output/insight/operators.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/tree/summary.h"

static void add_row(struct grid *g, const struct operator_row *row, const struct summary *s)
{
	char *name = xasprintf("%.*s", (int)row->size, row->name);

	grid_share(g, row->sum.self, s->total);
	grid_value(g, s->column, row->sum.self);
	grid_share(g, row->sum.total, s->total);
	grid_value(g, s->column, row->sum.total);
	grid_report_events(g, row->sum.total_samples, s);
	grid_text(g, name);
	free(name);
}

void operators_write(struct buffer *b, const struct operators *operators,
		     const struct summary *summary, const struct grid_report_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "self_percent", "Self%", false },   { "self", "Self", false },
		{ "total_percent", "Total%", false }, { "total", "Total", false },
		{ "samples", "Samples", false },      { "name", "Operator", true },
	};
	struct grid g;

	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	for (size_t i = 0; i < operators->nr; i++)
		if (operators->rows[i].sum.total)
			add_row(&g, &operators->rows[i], summary);
	grid_report_write(b, &g, summary, "op", opts);
	grid_fini(&g);
}
