/*
 * Writes the table of sprof report. All cells are made first; then each column gets the width of
 * its widest cell, and the names get what is left of the terminal.
 */
#include "output/report/table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/align.h"
#include "output/tree/label.h"
#include "output/tree/ratio.h"
#include "output/text/number.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum {
	BAR = 20, /* columns */
	MODULE_MAX = 24,
	NAME_MIN = 20,
	/*
	 * when nothing is cut, names are padded to this: a longer one does not widen the other rows
	 */
	NAME_PADDED = 80,
};

enum column {
	SELF_PERCENT,
	TOTAL_PERCENT,
	GIL_PERCENT,
	SELF,
	TOTAL,
	SAMPLES,
	SELF_RATIO,
	TOTAL_RATIO,
	NAME,
	MODULE,
	NR_CELLS
};

struct row {
	struct buffer cells[NR_CELLS];
	uint8_t kind; /* enum function_kind; FUNCTION_UNKNOWN for the heading */
};

struct table {
	struct buffer *b;
	const struct summary *summary;
	const struct table_opts *opts;
	struct row *rows; /* [0] is the heading */
	uint32_t nr_rows;
	size_t widths[NR_CELLS], bar;
	bool has_gil;
	const struct tree_ratio *ratio; /* NULL: none is shown */
};

/*
 * The margin of error is in samples. It can stand behind a value that is a number of samples, but
 * not behind events, of which a sample stands for many.
 */
static bool values_are_samples(const struct summary *s)
{
	return s->info->unit == UNIT_COUNT && !column_is_event(s->column);
}

static void fill_row(struct table *t, struct row *row, const struct ranking_row *r)
{
	const struct summary *s = t->summary;
	bool by_self = t->opts->key == RANKING_SELF, counts = values_are_samples(s);
	uint64_t samples = by_self ? r->sum.self_samples : r->sum.total_samples;

	number_add_percent(&row->cells[SELF_PERCENT], r->sum.self, s->total);
	number_add_percent(&row->cells[TOTAL_PERCENT], r->sum.total, s->total);
	if (r->gil.known)
		number_add_percent(&row->cells[GIL_PERCENT], r->gil.held, r->gil.known);
	else if (t->has_gil)
		buffer_add_char(&row->cells[GIL_PERCENT], '-');
	summary_add_value(&row->cells[SELF], s, r->sum.self);
	summary_add_value(&row->cells[TOTAL], s, r->sum.total);
	/* If values are counts, the margin is shown with the value that the table is sorted by. */
	if (!counts)
		buffer_add_u64(&row->cells[SAMPLES], samples);
	summary_add_margin(&row->cells[counts ? (by_self ? SELF : TOTAL) : SAMPLES], s, samples,
			   t->opts->unicode);
	if (t->ratio) {
		ratio_add_value(&row->cells[SELF_RATIO], r->self_ratio);
		ratio_add_value(&row->cells[TOTAL_RATIO], r->total_ratio);
	}
	buffer_add_string(&row->cells[NAME], r->function->name);
	row->kind = r->function->kind;
	text_add_clean(&row->cells[MODULE], r->function->module, strlen(r->function->module));
}

static void add_ratio_headings(struct table *t)
{
	const struct tree_ratio *r = t->ratio;
	bool ipc = !strcmp(t->summary->info->name, "instructions") && !strcmp(r->name, "cycles");
	const char *unit = r->per_second ? " second" : "";

	for (int c = SELF_RATIO; c <= TOTAL_RATIO; c++) {
		struct buffer *cell = &t->rows[0].cells[c];

		buffer_add_string(cell, c == SELF_RATIO ? "Self " : "Total ");
		if (ipc)
			buffer_add_string(cell, "IPC");
		else
			buffer_printf(cell, "per %s%s", r->name, unit);
	}
}

static void fill_heading(struct table *t)
{
	const char *headings[NR_CELLS] = {
		[SELF_PERCENT] = "Self%",
		[TOTAL_PERCENT] = "Total%",
		[GIL_PERCENT] = t->has_gil ? "GIL%" : "",
		[SELF] = "Self",
		[TOTAL] = "Total",
		[SAMPLES] = "",
		[SELF_RATIO] = "",
		[TOTAL_RATIO] = "",
		[NAME] = t->opts->heading,
		[MODULE] = "Module",
	};

	headings[SAMPLES] = t->opts->key == RANKING_SELF ? "Self" : "Total";
	if (values_are_samples(t->summary))
		headings[SAMPLES] = "";
	for (int i = 0; i < NR_CELLS; i++)
		buffer_add_string(&t->rows[0].cells[i], headings[i]);
	if (t->ratio)
		add_ratio_headings(t);
	if (*headings[SAMPLES])
		buffer_printf(&t->rows[0].cells[SAMPLES], " %s", t->summary->info->events);
}

/* Returns the columns that the others leave of the terminal. */
static size_t room_for_name(const struct table *t)
{
	size_t fixed = t->bar ? t->bar + 2 : 0;

	for (int c = 0; c < NR_CELLS; c++)
		if (c != NAME && t->widths[c])
			fixed += t->widths[c] + 2;
	return t->opts->columns > fixed ? t->opts->columns - fixed : 0;
}

static void measure(struct table *t)
{
	const enum column spare[] = { GIL_PERCENT, t->opts->key == RANKING_SELF ? TOTAL : SELF,
				      t->opts->key == RANKING_SELF ? SELF : TOTAL };
	bool modules = false;
	size_t left;

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
	if (!t->opts->columns) {
		if (t->widths[NAME] > NAME_PADDED)
			t->widths[NAME] = NAME_PADDED;
		return;
	}
	if (t->widths[MODULE] > MODULE_MAX)
		t->widths[MODULE] = MODULE_MAX;
	/* In a narrow terminal, names are worth more than modules, bars and the other values. */
	if (room_for_name(t) < NAME_MIN)
		t->widths[MODULE] = 0;
	if (room_for_name(t) < NAME_MIN)
		t->bar = 0;
	for (size_t i = 0; i < sizeof(spare) / sizeof(*spare) && room_for_name(t) < NAME_MIN; i++)
		t->widths[spare[i]] = 0;
	left = room_for_name(t);
	if (t->widths[NAME] > left)
		t->widths[NAME] = left > NAME_MIN ? left : NAME_MIN;
}

static void add_right(struct table *t, const struct buffer *cell, size_t width)
{
	if (!width)
		return;
	align_add_spaces(t->b, width - text_columns(cell->data, cell->size));
	buffer_add(t->b, cell->data, cell->size);
	buffer_add_string(t->b, "  ");
}

static size_t add_name(struct table *t, const struct row *row)
{
	const struct buffer *cell = &row->cells[NAME];
	size_t width = t->widths[NAME];

	if (!t->opts->columns) {
		buffer_add(t->b, cell->data, cell->size);
		return text_columns(cell->data, cell->size);
	}
	return label_add_short(t->b, cell->data, cell->size, row->kind, width, t->opts->unicode);
}

static void add_times(struct buffer *b, const char *s, uint64_t nr)
{
	while (nr--)
		buffer_add_string(b, s);
}

/* Draws the self part as a solid bar, and the rest of the total as a light one. */
static void add_bar(struct table *t, const struct tree_sum *sum)
{
	static const char *const eighths[] = { "",
					       "\xe2\x96\x8f",
					       "\xe2\x96\x8e",
					       "\xe2\x96\x8d",
					       "\xe2\x96\x8c",
					       "\xe2\x96\x8b",
					       "\xe2\x96\x8a",
					       "\xe2\x96\x89" };
	bool unicode = t->opts->unicode;
	uint64_t whole = t->summary->total;
	uint64_t self = number_scale(sum->self, BAR * 8, whole);
	uint64_t total = number_scale(sum->total, BAR, whole), solid = (self + 4) / 8;

	if (unicode) {
		solid = self / 8;
		add_times(t->b, "\xe2\x96\x88", solid);
		buffer_add_string(t->b, eighths[self % 8]);
		solid += self % 8 != 0;
	} else {
		add_times(t->b, "#", solid);
	}
	total = total > solid ? total : solid;
	add_times(t->b, unicode ? "\xe2\x96\x91" : "=", total - solid);
	align_add_spaces(t->b, BAR - total);
	align_add_spaces(t->b, 2);
}

static void add_row(struct table *t, const struct row *row, const struct tree_sum *sum)
{
	bool color = t->opts->color;
	size_t used;

	if (color && !sum)
		buffer_add_string(t->b, "\033[1m");
	add_right(t, &row->cells[SELF_PERCENT], t->widths[SELF_PERCENT]);
	add_right(t, &row->cells[TOTAL_PERCENT], t->widths[TOTAL_PERCENT]);
	add_right(t, &row->cells[GIL_PERCENT], t->widths[GIL_PERCENT]);
	if (color && sum)
		buffer_add_string(t->b, "\033[34m");
	if (sum && t->bar)
		add_bar(t, sum);
	else if (t->bar)
		buffer_printf(t->b, "%-*s  ", BAR, "0        50      100");
	if (color && sum)
		buffer_add_string(t->b, "\033[0m");
	for (int c = SELF; c <= TOTAL_RATIO; c++)
		add_right(t, &row->cells[c], t->widths[c]);
	used = add_name(t, row);
	if (t->widths[MODULE] && row->cells[MODULE].size) {
		align_add_spaces(t->b, (used < t->widths[NAME] ? t->widths[NAME] - used : 0) + 2);
		buffer_add_string(t->b, color && sum ? "\033[2m" : "");
		align_add_cut(t->b, row->cells[MODULE].data, row->cells[MODULE].size,
			      t->widths[MODULE], t->opts->unicode);
	}
	buffer_add_string(t->b, color ? "\033[0m\n" : "\n");
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

void table_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		 const struct table_opts *opts)
{
	struct table t = {
		.b = b,
		.summary = summary,
		.opts = opts,
		.bar = BAR,
		.has_gil = tree->gil,
		.ratio = tree->ratio,
	};
	struct ranking ranking;
	uint32_t nr;

	ranking_init(&ranking, tree, opts->key);
	nr = opts->max_rows && opts->max_rows < ranking.nr_rows ? opts->max_rows : ranking.nr_rows;
	t.rows = xcalloc(nr + 1, sizeof(*t.rows));
	t.nr_rows = nr + 1;
	t.rows[0].kind = FUNCTION_UNKNOWN;
	fill_heading(&t);
	for (uint32_t i = 0; i < nr; i++)
		fill_row(&t, &t.rows[i + 1], &ranking.rows[i]);
	measure(&t);
	table_add_head(b, summary);
	add_row(&t, &t.rows[0], NULL);
	for (uint32_t i = 0; i < nr; i++)
		add_row(&t, &t.rows[i + 1], &ranking.rows[i].sum);
	if (nr < ranking.nr_rows)
		number_add_more(b, ranking.nr_rows - nr, opts->singular, opts->plural);
	for (uint32_t i = 0; i <= nr; i++)
		for (int c = 0; c < NR_CELLS; c++)
			buffer_fini(&t.rows[i].cells[c]);
	free(t.rows);
	ranking_fini(&ranking);
}
