/* Writes the table of a diff: a row has the shares, or values, of before and after. */
#include "output/report/diff_table.h"

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { NAME_WIDTH = 16 }; /* columns of the terminal */

static void add_change(struct grid *g, const struct diff_view *v, const struct diff_amount *before,
		       const struct diff_amount *after, const struct diff_change *change)
{
	diff_text_add_amount(grid_cell(g), v, change->before, before);
	diff_text_add_amount(grid_cell(g), v, change->after, after);
	grid_cell(g);
	if (!before->samples && !after->samples)
		return;
	diff_text_add_change(&g->text, v, change);
	if (v->diff->exact)
		return;
	buffer_add_string(&g->text, g->unicode ? " \xc2\xb1" : " +-");
	diff_text_add_margin(&g->text, v, change);
}

/*
 * Orange for more and blue for less can be told apart in every kind of colour vision; changes
 * within the error are grey.
 */
static const char *style_of(const char *verdict)
{
	if (!*verdict)
		return "\033[2m";
	return *verdict == 'n' || *verdict == 'm' ? "\033[33m" : "\033[34m";
}

static void add_row(struct grid *g, const struct diff_view *v, const struct diff_row *r,
		    enum diff_key key)
{
	const char *verdict = diff_text_verdict(r, key);

	grid_text(g, verdict);
	add_change(g, v, &r->before.self, &r->after.self, &r->self);
	add_change(g, v, &r->before.total, &r->after.total, &r->total);
	grid_name(g, r->function->name, r->function->kind, 0, "");
	grid_text(g, r->function->module);
	grid_style_row(g, style_of(verdict));
}

static void add_side(struct buffer *b, const char *what, const char *name, const struct summary *s)
{
	struct buffer line = { 0 };

	buffer_printf(&line, "%s  %s: ", what, name);
	if (s->info->unit != UNIT_COUNT) {
		summary_add_value(&line, s, s->total);
		buffer_add_string(&line, " in ");
	}
	summary_add_trust(&line, s);
	if (s->unfinished)
		buffer_printf(&line, ", UNFINISHED: %s", s->note);
	text_add_clean(b, line.data, line.size);
	buffer_add_char(b, '\n');
	buffer_fini(&line);
}

static void add_head(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
		     uint32_t nr_rows)
{
	add_side(b, "before", v->before_name, v->before);
	add_side(b, "after ", v->after_name, v->after);
	diff_text_add_summary(b, v, rows, nr_rows);
	buffer_add_string(b, v->diff->absolute ? "\n" : "; shares of each\n");
	diff_text_add_totals(b, v);
	buffer_add_char(b, '\n');
}

void diff_table_write(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
		      uint32_t nr_rows, const struct diff_table_opts *opts)
{
	const struct grid_column columns[] = {
		{ NULL, "", true },
		{ "self", "Self was", false },
		{ "self", "is", false },
		{ "self", "change", false },
		{ "total", "Total was", false },
		{ "total", "is", false },
		{ "total", "change", false },
		{ NULL, v->heading, true },
		{ "module", "Module", true },
	};
	/* The modules go first, then the numbers that the table is not sorted by. */
	const char *const spare[] = { "module", "", opts->key == DIFF_SELF ? "total" : "self",
				      NULL };
	uint32_t nr = opts->max_rows && opts->max_rows < nr_rows ? opts->max_rows : nr_rows;
	struct grid g;

	grid_init(&g, columns, sizeof(columns) / sizeof(*columns));
	g.spare = spare;
	g.name_width = NAME_WIDTH;
	g.max_width = opts->columns;
	g.unicode = opts->unicode;
	g.color = opts->color;
	for (uint32_t i = 0; i < nr; i++)
		add_row(&g, v, &rows[i], opts->key);
	add_head(b, v, rows, nr_rows);
	grid_write_text(b, &g, 0);
	if (nr < nr_rows)
		number_add_more(b, nr_rows - nr, v->singular, v->plural);
	grid_fini(&g);
}
