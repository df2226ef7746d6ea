/*
 * Joins a grid, which knows figures and alignment, with the summary of a profile, which knows what
 * the figures are based on.
 */
#include "output/report/grid_report.h"

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/report/table.h"
#include "output/report/table_json.h"
#include "output/text/number.h"
#include "output/tree/summary.h"

enum { VERSION = 1 }; /* of tables of facts in JSON */

void grid_report_init(struct grid *g, const struct grid_column *columns, size_t nr,
		      const struct grid_report_opts *opts)
{
	grid_init(g, columns, nr);
	g->max_width = opts->columns;
	g->unicode = opts->unicode;
}

void grid_report_events(struct grid *g, uint64_t events, const struct summary *summary)
{
	if (summary->info->exact)
		grid_count(g, events);
	else
		grid_estimate(g, events, number_margin(events, summary->samples));
}

void grid_report_write(struct buffer *b, const struct grid *g, const struct summary *summary,
		       const char *report, const struct grid_report_opts *opts)
{
	if (opts->json) {
		report_json_write_grid(b, summary, report, g, opts->max_rows);
		return;
	}
	table_add_head(b, summary);
	grid_write_text(b, g, opts->max_rows);
}

void grid_report_add_sums(struct buffer *b, const struct profile_sums *sums)
{
	bool one = sums->nr_partly == 1;

	buffer_printf(b, "Sums of %u segment%s", sums->nr, sums->nr == 1 ? "" : "s");
	if (sums->nr_partly)
		buffer_printf(b,
			      "; %u of them %s only partly in the wanted time, and count%s whole",
			      sums->nr_partly, one ? "is" : "are", one ? "s" : "");
	buffer_add_char(b, '\n');
}

void grid_report_write_counted(struct buffer *b, const struct grid *g, const char *report,
			       const struct grid_report_opts *opts)
{
	const struct profile_sums *sums = opts->sums && opts->sums->nr ? opts->sums : NULL;

	if (!opts->json) {
		grid_write_text(b, g, opts->max_rows);
		if (sums)
			grid_report_add_sums(b, sums);
		return;
	}
	buffer_printf(b, "{\n\"version\": %d,\n\"report\": \"%s\",\n", VERSION, report);
	if (sums)
		buffer_printf(b, "\"segments\": %u,\n\"segments_partly\": %u,\n", sums->nr,
			      sums->nr_partly);
	buffer_add_string(b, "\"rows\": ");
	grid_write_json(b, g, opts->max_rows);
	buffer_add_string(b, "\n}\n");
}
