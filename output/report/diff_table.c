/*
 * Writes the table of a diff. All cells are made first; then each column gets the width of its
 * widest cell, and the names get what is left of the terminal.
 */
#include "output/report/diff_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/align.h"
#include "output/tree/label.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { NAME_MIN = 20, NAME_LEAST = 10, MODULE_MAX = 20 };

enum cell {
	VERDICT,
	SELF_WAS,
	SELF_IS,
	SELF_CHANGE,
	TOTAL_WAS,
	TOTAL_IS,
	TOTAL_CHANGE,
	NAME,
	MODULE,
	NR_CELLS
};

struct row {
	struct buffer cells[NR_CELLS];
	const struct diff_row *of; /* NULL = the heading */
};

struct table {
	struct buffer *b;
	const struct diff_view *v;
	const struct diff_table_opts *opts;
	struct row *rows;
	uint32_t nr_rows;
	size_t widths[NR_CELLS];
	size_t gap; /* between columns of numbers: 2, or 1 in a narrow terminal */
};

static void fill_change(struct table *t, struct row *row, int was, const struct diff_amount *before,
			const struct diff_amount *after, const struct diff_change *change)
{
	struct buffer *cell = &row->cells[was + 2];

	diff_text_add_amount(&row->cells[was], t->v, change->before, before);
	diff_text_add_amount(&row->cells[was + 1], t->v, change->after, after);
	if (!before->samples && !after->samples)
		return;
	diff_text_add_change(cell, t->v, change);
	if (t->v->diff->exact)
		return;
	buffer_add_string(cell, t->opts->unicode ? " \xc2\xb1" : " +-");
	diff_text_add_margin(cell, t->v, change);
}

static void fill_row(struct table *t, struct row *row, const struct diff_row *r)
{
	row->of = r;
	buffer_add_string(&row->cells[VERDICT], diff_text_verdict(r, t->opts->key));
	fill_change(t, row, SELF_WAS, &r->before.self, &r->after.self, &r->self);
	fill_change(t, row, TOTAL_WAS, &r->before.total, &r->after.total, &r->total);
	buffer_add_string(&row->cells[NAME], r->function->name);
	text_add_clean(&row->cells[MODULE], r->function->module, strlen(r->function->module));
}

static void fill_heading(struct row *row, const struct diff_view *v)
{
	const char *const headings[NR_CELLS] = { "",	   "Self was",	"is",
						 "change", "Total was", "is",
						 "change", v->heading,	"Module" };

	for (int i = 0; i < NR_CELLS; i++)
		buffer_add_string(&row->cells[i], headings[i]);
}

/* Returns the columns that the others leave of the terminal. */
static size_t room_for_name(const struct table *t)
{
	size_t fixed = t->widths[MODULE] ? t->widths[MODULE] + 2 : 0;

	for (int c = 0; c < NAME; c++)
		fixed += t->widths[c] ? t->widths[c] + t->gap : 0;
	return t->opts->columns > fixed ? t->opts->columns - fixed : 0;
}

static void measure(struct table *t)
{
	const int other = t->opts->key == DIFF_SELF ? TOTAL_WAS : SELF_WAS;
	bool modules = false;
	size_t left;

	t->gap = 2;
	for (uint32_t i = 0; i < t->nr_rows; i++) {
		modules |= i && t->rows[i].cells[MODULE].size;
		for (int c = 0; c < NR_CELLS; c++) {
			const struct buffer *cell = &t->rows[i].cells[c];
			size_t columns = text_columns(cell->data, cell->size);

			if (columns > t->widths[c])
				t->widths[c] = columns;
		}
	}
	if (!modules)
		t->widths[MODULE] = 0;
	if (!t->opts->columns)
		return;
	if (t->widths[MODULE] > MODULE_MAX)
		t->widths[MODULE] = MODULE_MAX;
	/*
	 * In a narrow terminal the modules go first, then the numbers that the table is not sorted
	 * by.
	 */
	if (room_for_name(t) < NAME_MIN)
		t->widths[MODULE] = 0;
	if (room_for_name(t) < NAME_MIN)
		t->gap = 1;
	if (room_for_name(t) < NAME_LEAST)
		t->widths[other] = t->widths[other + 1] = t->widths[other + 2] = 0;
	left = room_for_name(t);
	if (t->widths[NAME] > left)
		t->widths[NAME] = left > NAME_LEAST ? left : NAME_LEAST;
}

static size_t add_name(struct table *t, const struct row *row)
{
	const struct buffer *cell = &row->cells[NAME];
	uint8_t kind = row->of ? row->of->function->kind : FUNCTION_UNKNOWN;

	return label_add_short(t->b, cell->data, cell->size, kind, t->widths[NAME],
			       t->opts->unicode);
}

/*
 * Orange for more and blue for less can be told apart in every kind of colour vision; changes
 * within the error are grey.
 */
static const char *color_of(const struct table *t, const struct row *row)
{
	const char *verdict;

	if (!t->opts->color)
		return "";
	if (!row->of)
		return "\033[1m";
	verdict = diff_text_verdict(row->of, t->opts->key);
	if (!*verdict)
		return "\033[2m";
	return *verdict == 'n' || *verdict == 'm' ? "\033[33m" : "\033[34m";
}

static void add_row(struct table *t, const struct row *row)
{
	size_t used;

	buffer_add_string(t->b, color_of(t, row));
	for (int c = VERDICT; c < NAME; c++) {
		size_t columns = text_columns(row->cells[c].data, row->cells[c].size);

		if (!t->widths[c])
			continue;
		if (c != VERDICT)
			align_add_spaces(t->b, t->widths[c] - columns);
		buffer_add(t->b, row->cells[c].data, row->cells[c].size);
		if (c == VERDICT)
			align_add_spaces(t->b, t->widths[c] - columns);
		align_add_spaces(t->b, t->gap);
	}
	used = add_name(t, row);
	if (t->widths[MODULE] && row->cells[MODULE].size) {
		align_add_spaces(t->b, t->widths[NAME] - used + 2);
		align_add_cut(t->b, row->cells[MODULE].data, row->cells[MODULE].size,
			      t->widths[MODULE], t->opts->unicode);
	}
	buffer_add_string(t->b, t->opts->color ? "\033[0m\n" : "\n");
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
	struct table t = { .b = b, .v = v, .opts = opts };
	uint32_t nr = opts->max_rows && opts->max_rows < nr_rows ? opts->max_rows : nr_rows;

	t.rows = xcalloc(nr + 1, sizeof(*t.rows));
	t.nr_rows = nr + 1;
	fill_heading(&t.rows[0], v);
	for (uint32_t i = 0; i < nr; i++)
		fill_row(&t, &t.rows[i + 1], &rows[i]);
	measure(&t);
	add_head(b, v, rows, nr_rows);
	for (uint32_t i = 0; i <= nr; i++)
		add_row(&t, &t.rows[i]);
	if (nr < nr_rows)
		number_add_more(b, nr_rows - nr, v->singular, v->plural);
	for (uint32_t i = 0; i <= nr; i++)
		for (int c = 0; c < NR_CELLS; c++)
			buffer_fini(&t.rows[i].cells[c]);
	free(t.rows);
}
