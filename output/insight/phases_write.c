/* Writes the phases of a program as a table, as text or JSON: samples, self and total of each. */
#include "output/insight/phases.h"

#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/tree/summary.h"

static void add_row(struct grid *g, const struct summary *s, const struct phase *phase)
{
	const struct group_sum *sum = &phase->sum;

	grid_text(g, phase->name);
	grid_report_events(g, sum->self_samples, s);
	grid_value(g, s->column, sum->self);
	grid_share(g, sum->self, s->total);
	grid_value(g, s->column, sum->total);
	grid_share(g, sum->total, s->total);
}

void phases_write(struct buffer *b, const struct phases *phases, const struct summary *summary,
		  const struct grid_report_opts *opts)
{
	static const struct grid_column columns[] = {
		{ "phase", "Phase", true },  { "samples", "Samples", false },
		{ "self", "Self", false },   { "self_percent", "Self%", false },
		{ "total", "Total", false }, { "total_percent", "Total%", false },
	};
	struct grid g;

	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	for (size_t i = 0; i < phases->nr; i++)
		add_row(&g, summary, &phases->list[i]);
	grid_report_write(b, &g, summary, "phases", opts);
	grid_fini(&g);
}
