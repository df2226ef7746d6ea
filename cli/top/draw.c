/*
 * Lines from top to bottom: what is sampled, how far the numbers can be trusted, CPU time, what the
 * rows are, the table, and one for messages and questions. Tables are those of sprof report for the
 * width of the screen, and only for the visible rows.
 */
#include "cli/top/draw.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/help.h"
#include "cli/top/picture.h"
#include "cli/top/screen.h"
#include "cli/top/ui.h"
#include "core/base/clock.h"
#include "core/profile/column.h"
#include "output/report/table.h"
#include "output/report/tree_table.h"
#include "output/select/dimension.h"
#include "output/text/number.h"
#include "output/text/text.h"

#define MESSAGE_NS 10000000000ull /* how long a message is shown */
#define MIN_PARTS 1000		  /* in millionths: smaller nodes of a tree are not drawn */

enum { HEAD_ROWS = 4, TABLE_ROW = HEAD_ROWS, OTHER_ROWS = HEAD_ROWS + 2 };

uint32_t draw_page_rows(void)
{
	return screen_rows() > OTHER_ROWS ? (uint32_t)(screen_rows() - OTHER_ROWS) : 1;
}

static int text_at(int row, int column, enum screen_style style, struct buffer *b)
{
	int used = screen_text(row, column, screen_columns(), style, b->data, b->size);

	b->size = 0;
	return used;
}

/* Draws a text at the right edge. Returns the column where it begins. */
static int text_right(int row, enum screen_style style, struct buffer *b)
{
	int width = (int)text_columns(b->data, b->size), column = screen_columns() - width;

	text_at(row, column > 0 ? column : 0, style, b);
	return column;
}

static const char *state_name(const struct picture *p)
{
	if (p->status.state == MODEL_ENDED)
		return " ENDED ";
	if (p->status.paused)
		return " PAUSED ";
	return NULL;
}

static void draw_target(const struct picture *p)
{
	struct buffer b = { 0 };
	const char *state = state_name(p);
	int right = screen_columns();

	if (state) {
		buffer_add_string(&b, state);
		right = text_right(0, STYLE_SELECTED, &b) - 1;
	} else if (p->answer) {
		summary_add_origin(&b, &p->answer->rows.summary);
		if (b.size + 24 < (size_t)right)
			right = text_right(0, STYLE_DIM, &b) - 1;
		b.size = 0;
	}
	buffer_add_string(&b, "sprof top  ");
	text_add_line(&b, p->opts->target);
	screen_text(0, 0, right - 1, STYLE_TITLE, b.data, b.size);
	buffer_fini(&b);
}

/* Drops clauses from the end until the line fits; the first ones matter most. */
static void cut_clauses(struct buffer *b, int width)
{
	while (text_columns(b->data, b->size) > (size_t)(width > 0 ? width : 0)) {
		const char *comma = memrchr(b->data, ',', b->size);

		if (!comma)
			return;
		b->size = (size_t)(comma - b->data);
	}
}

static void draw_trust(const struct picture *p)
{
	struct buffer b = { 0 };
	int right = screen_columns();

	if (p->status.state != MODEL_FILE) {
		buffer_printf(&b, "own %.1f%% of a CPU", p->status.own_percent);
		right = text_right(1, STYLE_DIM, &b) - 1;
	}
	if (p->answer && p->answer->rows.tree)
		summary_add_trust(&b, &p->answer->rows.summary);
	else
		buffer_add_string(&b, "waiting for samples");
	cut_clauses(&b, right - 1);
	screen_text(1, 0, right - 1,
		    p->answer && p->answer->rows.summary.lost ? STYLE_WARNING : STYLE_PLAIN, b.data,
		    b.size);
	buffer_fini(&b);
}

static void add_curve(struct buffer *b, const uint64_t *ns, int nr, uint64_t most)
{
	static const char *const blocks[] = { " ",
					      "\xe2\x96\x81",
					      "\xe2\x96\x82",
					      "\xe2\x96\x83",
					      "\xe2\x96\x84",
					      "\xe2\x96\x85",
					      "\xe2\x96\x86",
					      "\xe2\x96\x87",
					      "\xe2\x96\x88" };
	static const char *const letters[] = { " ", ".", ":", "-", "=", "+", "*", "%", "#" };

	for (int i = 0; i < nr; i++) {
		uint64_t height = number_scale(ns[i], 8, most);

		height = height > 8 ? 8 : ns[i] && !height ? 1 : height;
		buffer_add_string(b, screen_is_unicode() ? blocks[height] : letters[height]);
	}
}

static void add_percent_of_cpu(struct buffer *b, uint64_t ns)
{
	buffer_printf(b, "%llu%%", (unsigned long long)number_scale(ns, 100, NS_PER_S));
}

/* The present second is left out, because it is not over. */
static void draw_cpu(const struct picture *p)
{
	const uint64_t *ns = p->answer->state.cpu_ns;
	struct buffer b = { 0 }, label = { 0 };
	uint64_t most = 0, last = ns[SLICES_MINUTE - 2];
	int nr = SLICES_MINUTE - 1, column;

	for (int i = 0; i < nr; i++)
		most = ns[i] > most ? ns[i] : most;
	buffer_add_string(&b, "CPU ");
	add_percent_of_cpu(&b, last);
	column = text_at(2, 0, STYLE_PLAIN, &b) + 1;
	column = column < 9 ? 9 : column;
	buffer_add_string(&label, "peak ");
	add_percent_of_cpu(&label, most);
	if (column + nr + 1 + (int)label.size > screen_columns())
		nr = screen_columns() - column - 1 - (int)label.size;
	add_curve(&b, ns + SLICES_MINUTE - 1 - nr, nr, most);
	column += text_at(2, column, STYLE_CURVE, &b);
	text_at(2, column + 1, STYLE_DIM, &label);
	buffer_fini(&b);
	buffer_fini(&label);
}

static void add_window(struct buffer *b, const struct picture *p)
{
	const struct slices_span *span = &p->answer->state.span;
	uint64_t s = (span->end_ns - span->start_ns + NS_PER_S / 2) / NS_PER_S;

	if (p->status.state == MODEL_FILE)
		return;
	if (p->opts->window_s && s + 1 >= p->opts->window_s)
		buffer_printf(b, "last %u s", p->opts->window_s);
	else
		buffer_printf(b, "%llu s", (unsigned long long)s);
}

/* Adds the columns that have samples, with the shown one in brackets. */
static void add_columns(struct buffer *b, const struct picture *p)
{
	const struct live_answer *a = p->answer;
	const char *separator = "";

	for (unsigned int c = 0; c < NR_COLUMNS; c++) {
		bool shown = a->rows.tree && a->rows.tree->column == c;

		if (!a->has_column[c] && !shown)
			continue;
		buffer_add_string(b, separator);
		buffer_printf(b, shown ? "[" : "");
		text_add_line(b, column_info_of(a->rows.profile, c)->name);
		buffer_printf(b, shown ? "]" : "");
		separator = " ";
	}
}

/* Names what the answer shows: the last question may not be answered yet. */
static void draw_view(const struct picture *p)
{
	const struct live_question *shown = &p->answer->question;
	struct buffer b = { 0 };
	int right;

	add_window(&b, p);
	right = text_right(3, STYLE_DIM, &b) - 2;
	if (p->page == PAGE_DETAIL) {
		buffer_add_string(&b, p->question.detail == DETAIL_CALLERS ? "Callers of "
									   : "Callees of ");
		text_add_line(&b, p->question.detail_name);
	} else {
		buffer_printf(&b, "%s by %s  ", shown->by->plural,
			      p->key == RANKING_SELF ? "self" : "total");
		b.data[0] = (char)toupper((unsigned char)b.data[0]);
		add_columns(&b, p);
		if (shown->focus) {
			buffer_add_string(&b, "  focus ");
			text_add_line(&b, shown->focus);
		}
	}
	screen_text(3, 0, right, STYLE_TITLE, b.data, b.size);
	buffer_fini(&b);
}

/* Draws lines of a text from number `first` on, with one marked. Returns how many it has in all. */
static uint32_t draw_lines(const struct buffer *b, int row, uint32_t first, uint32_t most,
			   uint32_t selected)
{
	uint32_t number = 0;

	for (size_t at = 0; at < b->size; number++) {
		const char *line = b->data + at, *end = memchr(line, '\n', b->size - at);
		size_t size = end ? (size_t)(end - line) : b->size - at;

		if (number >= first && number - first < most)
			screen_text(row + (int)(number - first), 0, screen_columns(),
				    number == selected ? STYLE_SELECTED : STYLE_PLAIN, line, size);
		at += size + 1;
	}
	return number;
}

static struct table_opts table_opts_of(const struct picture *p, uint32_t rows)
{
	const struct dimension *by = p->answer->question.by;

	return (struct table_opts){
		.key = p->key,
		.max_rows = rows,
		.columns = (size_t)screen_columns(),
		.unicode = screen_is_unicode(),
		.color = true,
		.heading = by->heading,
		.singular = by->name,
		.plural = by->plural,
	};
}

static void draw_rows(struct picture *p)
{
	const struct live_tree *t = &p->answer->rows;
	uint32_t page = draw_page_rows(), nr = p->ranking.nr_rows;
	struct table_opts opts;
	struct buffer b = { 0 };

	if (p->selected < p->top)
		p->top = p->selected;
	if (p->selected >= p->top + page)
		p->top = p->selected - page + 1;
	if (p->top && p->top + page > nr)
		p->top = nr > page ? nr - page : 0;
	opts = table_opts_of(p, p->top + page);
	table_add_rows(&b, t->tree, &t->summary, &opts);
	draw_lines(&b, TABLE_ROW, 0, 1, UINT32_MAX);
	if (nr)
		draw_lines(&b, TABLE_ROW + 1, 1 + p->top, nr - p->top < page ? nr - p->top : page,
			   1 + p->selected);
	buffer_fini(&b);
}

static void draw_detail(struct picture *p)
{
	const struct live_question *asked = &p->answer->question;
	const struct live_tree *t = &p->answer->detail;
	uint32_t page = draw_page_rows();
	struct table_opts opts = table_opts_of(p, p->detail_top + page + 1);
	struct buffer b = { 0 };

	if (!t->tree || asked->detail != p->question.detail ||
	    strcmp(asked->detail_name, p->question.detail_name) != 0)
		return; /* the answer is being made */
	tree_table_add_rows(&b, t->tree, &t->summary, &opts, MIN_PARTS);
	draw_lines(&b, TABLE_ROW, 0, 1, UINT32_MAX);
	p->nr_detail_lines = draw_lines(&b, TABLE_ROW + 1, 1 + p->detail_top, page, UINT32_MAX) - 1;
	buffer_fini(&b);
}

static void draw_prompt(const struct picture *p, int row)
{
	static const char *const questions[] = {
		[PROMPT_FOCUS] = "Only stacks with a function that matches (empty: all): ",
		[PROMPT_SEARCH] = "Search: ",
		[PROMPT_SAVE] = "Save as: ",
		[PROMPT_QUIT] = "The program runs on. e: end it, l: leave it running, Esc: back",
	};
	struct buffer b = { 0 };
	int used, width = screen_columns() - 1;

	buffer_add_string(&b, questions[p->prompt]);
	if (p->prompt == PROMPT_FOCUS && width < 80)
		b.size = 0, buffer_add_string(&b, "Only stacks that match: ");
	used = text_at(row, 0, STYLE_TITLE, &b);
	if (p->prompt != PROMPT_QUIT) {
		size_t tail;

		text_add_clean(&b, p->input.data, p->input.size);
		tail = text_tail(b.data, b.size, (size_t)(width > used ? width - used : 0));
		used += screen_text(row, used, width, STYLE_PLAIN, b.data + b.size - tail, tail);
	}
	buffer_fini(&b);
	screen_show(p->prompt == PROMPT_QUIT ? -1 : row, used);
}

/* A note about the answer, shown as long as the answer is. */
static const char *note_of(const struct picture *p)
{
	if (p->why[0])
		return p->why;
	if (!p->answer)
		return "";
	if (p->answer->why[0])
		return p->answer->why;
	if (p->answer->state.stacks_full)
		return "the tables are full: new stacks stand together as [incomplete: over a "
		       "limit]";
	if (p->answer->state.threads_full)
		return "the table of threads is full: new ones stand together";
	if (p->answer->state.span.shift)
		return "too many samples for memory: several count as one, margins are too wide";
	return "";
}

static uint64_t message_left_ns(const struct picture *p)
{
	uint64_t age_ns = monotonic_ns() - p->status.text_ns;

	return p->status.text[0] && age_ns < MESSAGE_NS ? MESSAGE_NS - age_ns : 0;
}

int draw_next_ms(const struct picture *p)
{
	uint64_t left_ns = message_left_ns(p);

	return left_ns ? (int)(left_ns / 1000000) + 1 : -1;
}

static void draw_foot(const struct picture *p)
{
	int row = screen_rows() - 1;
	bool is_new = message_left_ns(p);
	const char *note = note_of(p), *keys = help_keys(p->page, screen_columns());

	if (p->prompt) {
		draw_prompt(p, row);
		return;
	}
	if (p->why[0] || (!is_new && *note))
		screen_text(row, 0, screen_columns(), STYLE_WARNING, note, strlen(note));
	else if (is_new)
		screen_text(row, 0, screen_columns(), STYLE_TITLE, p->status.text,
			    strlen(p->status.text));
	else
		screen_text(row, 0, screen_columns(), STYLE_DIM, keys, strlen(keys));
	screen_show(-1, 0);
}

void draw(struct picture *p)
{
	screen_clear();
	draw_target(p);
	draw_trust(p);
	if (p->page == PAGE_HELP) {
		struct buffer b = { 0 };

		buffer_add_string(&b, help_text);
		draw_lines(&b, 3, p->help_top, draw_page_rows() + 2, UINT32_MAX);
		buffer_fini(&b);
	} else if (p->answer && p->answer->rows.tree) {
		if (p->status.state != MODEL_FILE)
			draw_cpu(p);
		draw_view(p);
		if (p->page == PAGE_DETAIL)
			draw_detail(p);
		else
			draw_rows(p);
	}
	draw_foot(p);
}
