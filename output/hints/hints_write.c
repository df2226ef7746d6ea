/* Writes hints as text (what, how much, how sure, where, and what to do) and as JSON. */
#include <inttypes.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/hints/hints.h"
#include "output/text/number.h"
#include "output/report/table_json.h"
#include "output/report/table.h"
#include "output/text/text.h"

static uint64_t margin_of(const struct hint *h)
{
	return column_table[h->column].exact ? 0 : number_margin(h->samples, h->whole_samples);
}

static void add_holder(struct buffer *b, const struct hint *h)
{
	buffer_add_string(b, "; ");
	number_add_percent(b, h->holder_weight, h->held);
	buffer_printf(b, " of the time that threads held the GIL was below %s", h->holder);
	if (h->holder_tid)
		buffer_printf(b, ", most of it in thread %" PRIu32, h->holder_tid);
	if (h->held_off_cpu > h->held / 100) {
		buffer_add_string(b, "; ");
		number_add_percent(b, h->held_off_cpu, h->held);
		buffer_add_string(b, " of that time they did not run");
	}
}

static void add_worker(struct buffer *b, const struct hint_worker *w)
{
	buffer_printf(b, "process %" PRIu32 ", loads for ", w->pid);
	number_add_percent(b, w->loading, w->whole);
	buffer_add_string(b, " of its time");
}

static void add_workers(struct buffer *b, const struct hint *h)
{
	buffer_printf(b, "; %" PRIu32 " worker%s: %s", h->nr_workers, h->nr_workers == 1 ? "" : "s",
		      h->nr_workers == 1 ? "" : "the busiest, ");
	add_worker(b, &h->busiest);
	if (h->worker_where && *h->worker_where) {
		buffer_add_string(b, ", ");
		number_add_percent(b, h->worker_where_weight, h->busiest.loading);
		buffer_printf(b, " of it below %s", h->worker_where);
	}
	if (h->nr_workers > 1) {
		buffer_add_string(b, "; the least busy, ");
		add_worker(b, &h->idlest);
	}
}

static void add_hint(struct buffer *b, const struct hint *h, const struct hints_opts *opts)
{
	const struct column_info *info = &column_table[h->column];

	number_add_percent(b, h->weight, h->whole);
	if (!info->exact) {
		buffer_add_string(b, opts->unicode ? " \xc2\xb1 " : " +- ");
		number_add_percent(b, margin_of(h), h->whole_samples);
	}
	buffer_printf(b, " of the %s: %s\n",
		      h->of			  ? h->of
		      : h->column == COLUMN_COUNT ? "samples"
						  : info->title,
		      h->title);
	buffer_add_string(b, "  evidence: ");
	number_add_value(b, h->column, h->weight);
	buffer_add_string(b, " of ");
	number_add_value(b, h->column, h->whole);
	if (info->unit != UNIT_COUNT && !h->of)
		buffer_printf(b, ", %" PRIu64 " %s", h->samples,
			      column_events_name(info, h->samples));
	if (*h->where) {
		buffer_add_string(b, "; ");
		number_add_percent(b, h->where_weight, h->weight);
		buffer_add_string(b, " of it below ");
		buffer_add_string(b, h->where);
	}
	if (h->holder && *h->holder)
		add_holder(b, h);
	if (h->nr_workers)
		add_workers(b, h);
	if (h->last_ms)
		buffer_printf(b, "; last seen %u.%03u s after the start", h->last_ms / 1000,
			      h->last_ms % 1000);
	buffer_printf(b, "\n  remedy: %s\n\n", h->remedy);
}

static void write_json(struct buffer *b, const struct hints *hints, const struct summary *summary)
{
	static const struct grid_column columns[] = {
		{ "code", NULL, true },
		{ "column", NULL, true },
		{ "percent", NULL, false },
		{ "weight", NULL, false },
		{ "whole", NULL, false },
		{ "samples", NULL, false },
		{ "margin", NULL, false },
		{ "whole_samples", NULL, false },
		{ "min_percent", NULL, false },
		{ "where", NULL, true },
		{ "where_weight", NULL, false },
		{ "last_ms", NULL, false },
		{ "title", NULL, true },
		{ "remedy", NULL, true },
		{ "holder", NULL, true },
		{ "holder_weight", NULL, false },
		{ "holder_tid", NULL, false },
		{ "held_off_cpu", NULL, false },
		{ "workers", NULL, false },
		{ "worker", NULL, false },
		{ "worker_percent", NULL, false },
		{ "worker_where", NULL, true },
	};
	struct grid g;

	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < hints->nr; i++) {
		const struct hint *h = &hints->list[i];

		grid_text(&g, h->code);
		grid_text(&g, column_table[h->column].name);
		grid_share(&g, h->weight, h->whole);
		grid_count(&g, h->weight);
		grid_count(&g, h->whole);
		grid_count(&g, h->samples);
		grid_count(&g, margin_of(h));
		grid_count(&g, h->whole_samples);
		grid_count(&g, h->min_percent);
		grid_text(&g, h->where);
		grid_count(&g, h->where_weight);
		if (h->last_ms)
			grid_count(&g, h->last_ms);
		else
			grid_none(&g);
		grid_text(&g, h->title);
		grid_text(&g, h->remedy);
		grid_text(&g, h->holder ? h->holder : "");
		grid_count(&g, h->holder_weight);
		grid_count(&g, h->holder_tid);
		grid_count(&g, h->held_off_cpu);
		grid_count(&g, h->nr_workers);
		grid_count(&g, h->busiest.pid);
		grid_share(&g, h->busiest.loading, h->busiest.whole);
		grid_text(&g, h->worker_where ? h->worker_where : "");
	}
	report_json_write_grid(b, summary, "hints", &g, 0);
	grid_fini(&g);
}

void hints_write(struct buffer *b, const struct hints *hints, const struct summary *summary,
		 const struct hints_opts *opts)
{
	if (opts->json) {
		write_json(b, hints, summary);
		return;
	}
	table_add_head(b, summary);
	for (size_t i = 0; i < hints->nr; i++)
		add_hint(b, &hints->list[i], opts);
	if (!hints->nr)
		buffer_add_string(b, "no problem found that these samples can prove\n");
	else
		b->size--; /* the last empty line */
}
