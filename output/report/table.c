/*
 * Writes the table of sprof report: a grid with a bar in each row, which shows self and total on
 * one scale.
 */
#include "output/report/table.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/tree/margins.h"
#include "output/tree/ratio.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { BAR = 20, NAME_WIDTH = 20 }; /* columns of the terminal */

static void add_times(struct buffer *b, const char *s, uint64_t nr)
{
	while (nr--)
		buffer_add_string(b, s);
}

/* Draws the self part as a solid bar, and the rest of the total as a light one. */
static void add_bar(struct buffer *b, const struct tree_sum *sum, uint64_t whole, bool unicode)
{
	static const char *const eighths[] = { "",
					       "\xe2\x96\x8f",
					       "\xe2\x96\x8e",
					       "\xe2\x96\x8d",
					       "\xe2\x96\x8c",
					       "\xe2\x96\x8b",
					       "\xe2\x96\x8a",
					       "\xe2\x96\x89" };
	uint64_t self = number_scale(sum->self, BAR * 8, whole);
	uint64_t total = number_scale(sum->total, BAR, whole), solid = (self + 4) / 8;

	if (unicode) {
		solid = self / 8;
		add_times(b, "\xe2\x96\x88", solid);
		buffer_add_string(b, eighths[self % 8]);
		solid += self % 8 != 0;
	} else {
		add_times(b, "#", solid);
	}
	if (total > solid)
		add_times(b, unicode ? "\xe2\x96\x91" : "=", total - solid);
}

/*
 * The margin of error is in samples. It can stand behind a value that is a number of samples, but
 * not behind events, of which a sample stands for many.
 */
static bool values_are_samples(const struct summary *s)
{
	return s->info->unit == UNIT_COUNT && !column_is_event(s->column) &&
	       !(column_is_memory(s->column) && !s->info->sums);
}

/* A value, and what is known of its error in the same unit. */
static void add_value(struct grid *g, const struct summary *s, uint64_t value,
		      const uint64_t *margin, bool unicode)
{
	summary_add_value(grid_cell(g), s, value);
	if (!margin || !value)
		return;
	buffer_add_string(&g->text, unicode ? "\xc2\xb1" : "+-");
	summary_add_value(&g->text, s, *margin);
}

static void add_ratios(struct grid *g, const struct ranking_row *r, bool has_ratio)
{
	struct buffer *cell = grid_cell(g);

	if (has_ratio)
		ratio_add_value(cell, r->self_ratio);
	cell = grid_cell(g);
	if (has_ratio)
		ratio_add_value(cell, r->total_ratio);
}

/* "IPC", or "per cpu second". */
static void name_ratio(struct buffer *b, const struct tree *tree)
{
	const struct tree_ratio *r = tree->ratio;

	if (r && !strcmp(tree->info->name, "instructions") && !strcmp(r->name, "cycles"))
		buffer_add_string(b, "IPC");
	else if (r)
		buffer_printf(b, "per %s%s", r->name, r->per_second ? " second" : "");
}

static void add_row(struct grid *g, const struct tree *tree, const struct summary *s,
		    const struct ranking_row *r, const struct table_opts *opts)
{
	const struct tree_margins *margins = tree->margins;
	size_t function = (size_t)(r->function - tree->functions.list);
	bool by_self = opts->key == RANKING_SELF, counts = values_are_samples(s);
	uint64_t samples = by_self ? r->sum.self_samples : r->sum.total_samples;

	grid_share(g, r->sum.self, s->total);
	grid_share(g, r->sum.total, s->total);
	if (r->gil.known)
		grid_share(g, r->gil.held, r->gil.known);
	else
		buffer_add_string(grid_cell(g), tree->gil ? "-" : "");
	add_bar(grid_cell(g), &r->sum, s->total, opts->unicode);
	grid_style(g, "\033[34m");
	/* If values are counts, the margin is shown with the value that the table is sorted by. */
	add_value(g, s, r->sum.self, margins ? &margins->self[function] : NULL, opts->unicode);
	if (counts && by_self)
		summary_add_margin(&g->text, s, samples, opts->unicode);
	add_value(g, s, r->sum.total, margins ? &margins->total[function] : NULL, opts->unicode);
	if (counts && !by_self)
		summary_add_margin(&g->text, s, samples, opts->unicode);
	if (counts)
		grid_cell(g);
	else
		summary_add_count(grid_cell(g), s, samples, opts->unicode);
	add_ratios(g, r, tree->ratio);
	grid_name(g, r->function->name, r->function->kind, 0, "");
	grid_text(g, r->function->module);
	grid_style(g, "\033[2m");
}

static void add_line(struct buffer *b, struct buffer *line)
{
	if (line->size) {
		text_add_clean(b, line->data, line->size);
		buffer_add_char(b, '\n');
	}
	line->size = 0;
}

void table_add_head(struct buffer *b, const struct summary *summary)
{
	struct buffer line = { 0 };

	text_add_line(&line, summary->command);
	add_line(b, &line);
	summary_add_origin(&line, summary);
	add_line(b, &line);
	summary_add_trust(&line, summary);
	add_line(b, &line);
	if (summary->unfinished)
		buffer_printf(&line, "UNFINISHED: %s", summary->note);
	add_line(b, &line);
	buffer_add_char(b, '\n');
	buffer_fini(&line);
}

void table_add_rows(struct buffer *b, const struct tree *tree, const struct summary *summary,
		    const struct table_opts *opts)
{
	bool by_self = opts->key == RANKING_SELF;
	const char *const spare[] = {
		"module", "bar", "gil", by_self ? "total" : "self", by_self ? "self" : "total", NULL
	};
	struct buffer samples = { 0 }, self_ratio = { 0 }, total_ratio = { 0 };
	struct ranking ranking;
	struct grid g;
	uint32_t nr;

	buffer_printf(&samples, "%s %s", by_self ? "Self" : "Total", summary->info->events);
	buffer_add_string(&self_ratio, "Self ");
	name_ratio(&self_ratio, tree);
	buffer_add_string(&total_ratio, "Total ");
	name_ratio(&total_ratio, tree);
	const struct grid_column columns[] = {
		{ NULL, "Self%", false },
		{ NULL, "Total%", false },
		{ "gil", "GIL%", false },
		{ "bar", "0        50      100", true },
		{ "self", "Self", false },
		{ "total", "Total", false },
		{ NULL, buffer_cstring(&samples), false },
		{ NULL, buffer_cstring(&self_ratio), false },
		{ NULL, buffer_cstring(&total_ratio), false },
		{ NULL, opts->heading, true },
		{ "module", "Module", true },
	};

	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	g.spare = spare;
	g.name_width = NAME_WIDTH;
	g.max_width = opts->columns;
	g.unicode = opts->unicode;
	g.color = opts->color;
	ranking_init(&ranking, tree, opts->key);
	nr = opts->max_rows && opts->max_rows < ranking.nr_rows ? opts->max_rows : ranking.nr_rows;
	for (uint32_t i = 0; i < nr; i++)
		add_row(&g, tree, summary, &ranking.rows[i], opts);
	grid_write_text(b, &g, 0);
	if (nr < ranking.nr_rows)
		number_add_more(b, ranking.nr_rows - nr, opts->singular, opts->plural);
	buffer_fini(&samples);
	buffer_fini(&self_ratio);
	buffer_fini(&total_ratio);
	grid_fini(&g);
	ranking_fini(&ranking);
}

void table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 const struct table_opts *opts)
{
	table_add_head(b, summary);
	table_add_rows(b, tree, summary, opts);
}
