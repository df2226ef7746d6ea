/*
 * Writes grids. Columns get the width of their widest cell, and in a narrow terminal some columns
 * are left out and names are cut.
 */
#include "output/report/grid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/text/align.h"
#include "output/text/number.h"
#include "output/text/text.h"
#include "output/tree/label.h"

enum {
	NAME_ENOUGH = 24, /* columns of the terminal */
	NAME_MIN = 14,
	/* when nothing is cut, names are padded to this: a longer one widens no other row */
	NAME_PADDED = 80,
};

/* A cell as it is written, or a heading. */
struct shown {
	const char *s, *style;
	size_t size, prefix;
	uint8_t kind;
};

static size_t rows_of(const struct grid *g, uint32_t max_rows)
{
	size_t nr = g->nr_cells / g->nr_columns;

	return max_rows && max_rows < nr ? max_rows : nr;
}

static bool has_headings(const struct grid *g)
{
	for (size_t i = 0; i < g->nr_columns; i++)
		if (g->columns[i].heading && *g->columns[i].heading)
			return true;
	return false;
}

/* Row 0 is the heading. */
static struct shown shown_at(const struct grid *g, size_t row, size_t column)
{
	const char *heading = g->columns[column].heading;
	size_t at, end = g->text.size;
	const struct grid_cell *c;

	if (!row)
		return (struct shown){ heading, "\033[1m", strlen(heading), 0, FUNCTION_UNKNOWN };
	at = (row - 1) * g->nr_columns + column;
	c = &g->cells[at];
	if (at + 1 < g->nr_cells)
		end = c[1].text;
	return (struct shown){ end > c->text ? g->text.data + c->text : "",
			       c->style ? c->style : "", end - c->text, c->prefix, c->kind };
}

/* The bytes of other scripts' letters are taken for letters. */
static bool is_letter(const struct shown *c, size_t i)
{
	return i < c->size && ((unsigned char)c->s[i] >= 0x80 || isalnum((unsigned char)c->s[i]));
}

/* Would Markdown take the character for markup? It then needs a backslash. */
static bool is_markup(const struct shown *c, size_t i)
{
	if (c->s[i] == '_') /* __init__ would be bold; a_b is as written */
		return !i || !is_letter(c, i - 1) || !is_letter(c, i + 1);
	return c->s[i] && strchr("|<*`[~\\", c->s[i]);
}

/* The columns of a cell; `marked`: with the backslashes of Markdown. */
static size_t columns_of(const struct shown *c, bool marked)
{
	size_t columns = text_columns(c->s, c->size);

	for (size_t i = 0; marked && i < c->size; i++)
		columns += is_markup(c, i);
	return columns;
}

/* The columns of the widest cell and the heading; 0 if no cell of a text has content. */
static size_t width_of(const struct grid *g, size_t column, size_t nr_rows, bool marked)
{
	bool padded = g->columns[column].left && !marked && !g->max_width,
	     empty = nr_rows && !marked;
	size_t width = 0;

	for (size_t i = 0; i <= nr_rows; i++) {
		const struct shown cell = shown_at(g, i, column);
		size_t columns = columns_of(&cell, marked);

		empty = empty && (!i || !columns);
		if (columns > width)
			width = columns;
	}
	return empty ? 0 : padded && width > NAME_PADDED ? NAME_PADDED : width;
}

/* Adds the text of a cell as Markdown, which is never cut. */
static void add_marked(struct buffer *b, const struct shown *c)
{
	for (size_t i = 0; i < c->size; i++) {
		if (is_markup(c, i))
			buffer_add_char(b, '\\');
		if (i < c->prefix && c->s[i] == ' ')
			buffer_add_string(b, "\xc2\xa0"); /* Markdown drops other spaces */
		else
			buffer_add_char(b, c->s[i]);
	}
}

/* Cuts a cell: its indentation until NAME_MIN columns of the name fit, then the name. */
static void add_cut(struct buffer *b, struct shown *c, size_t width, bool unicode)
{
	size_t columns = text_columns(c->s, c->size), name = columns - c->prefix;
	size_t least = name < NAME_MIN ? name : NAME_MIN;

	while (c->prefix && columns > width && *c->s == ' ' && c->prefix + least > width) {
		c->s++;
		c->size--;
		c->prefix--;
		columns--;
	}
	if (c->kind == GRID_CUT_AT_END) {
		buffer_add(b, c->s, text_head(c->s, c->size, width));
		return;
	}
	buffer_add(b, c->s, c->prefix);
	label_add_short(b, c->s + c->prefix, c->size - c->prefix, c->kind,
			width > c->prefix ? width - c->prefix : 0, unicode);
}

/* The columns of a table that are written, and what is between them. */
struct layout {
	size_t *widths; /* 0: left out */
	size_t gap;
};

static size_t whole_width(const struct grid *g, const struct layout *l)
{
	size_t width = 0;

	for (size_t i = 0; i < g->nr_columns; i++)
		width += l->widths[i] ? l->widths[i] + l->gap : 0;
	return width ? width - l->gap : 0;
}

/* Adds the last cell of a row in as many lines as it takes, below one another. */
static void add_folded(struct buffer *b, const struct grid *g, const struct shown *c,
		       const struct layout *l)
{
	size_t before = g->indent + whole_width(g, l) - l->widths[g->nr_columns - 1];

	align_add_folded(b, c->s, c->size, before, before, g->max_width);
}

/* Spaces at the end of a line are not written, and a style begins and ends at text. */
static void add_row(struct buffer *b, const struct grid *g, size_t row, const struct layout *l)
{
	struct buffer text = { 0 };
	const char *style = "";
	size_t blank = g->indent;

	for (size_t i = 0; i < g->nr_columns; i++) {
		struct shown c = l->widths[i] ? shown_at(g, row, i) : (struct shown){ 0 };
		bool restyled;
		size_t columns, pad;

		if (!l->widths[i])
			continue;
		text.size = 0;
		if (g->max_width && g->folds && i + 1 == g->nr_columns)
			add_folded(&text, g, &c, l);
		else if (g->max_width && !g->folds)
			add_cut(&text, &c, l->widths[i], g->unicode);
		else
			buffer_add(&text, c.s, c.size);
		while (text.size && text.data[text.size - 1] == ' ')
			text.size--;
		columns = text_columns(text.data, text.size);
		pad = l->widths[i] > columns ? l->widths[i] - columns : 0;
		blank += g->columns[i].left && text.size ? 0 : pad;
		restyled = g->color && text.size && strcmp(style, c.style) != 0;
		if (restyled && *style)
			buffer_add_string(b, "\033[0m");
		if (text.size)
			align_add_spaces(b, blank);
		if (restyled)
			buffer_add_string(b, style = c.style);
		buffer_add(b, text.data, text.size);
		blank = l->gap + (!text.size ? blank : g->columns[i].left ? pad : 0);
	}
	buffer_add_string(b, *style ? "\033[0m\n" : "\n");
	buffer_fini(&text);
}

static void add_marked_row(struct buffer *b, const struct grid *g, size_t row, const size_t *widths)
{
	const char *separator = "| ";

	for (size_t i = 0; i < g->nr_columns; i++) {
		struct shown c;
		size_t pad;

		if (!widths[i])
			continue;
		c = shown_at(g, row, i);
		pad = widths[i] - columns_of(&c, true);
		buffer_add_string(b, separator);
		align_add_spaces(b, g->columns[i].left ? 0 : pad);
		add_marked(b, &c);
		align_add_spaces(b, g->columns[i].left ? pad : 0);
		separator = " | ";
	}
	buffer_add_string(b, " |\n");
}

static void add_rule(struct buffer *b, const struct grid *g, const size_t *widths)
{
	for (size_t i = 0; i < g->nr_columns; i++) {
		if (!widths[i])
			continue;
		buffer_add_string(b, "| ");
		for (size_t k = !g->columns[i].left; k < widths[i]; k++)
			buffer_add_char(b, '-');
		buffer_add_string(b, g->columns[i].left ? " " : ": ");
	}
	buffer_add_string(b, "|\n");
}

/* Finds the widest column of names, the one that is cut; nr_columns if there is none. */
static size_t widest_names(const struct grid *g, const size_t *widths)
{
	size_t widest = g->nr_columns;

	for (size_t i = 0; i < g->nr_columns; i++)
		if (g->columns[i].left && widths[i] &&
		    (widest == g->nr_columns || widths[i] > widths[widest]))
			widest = i;
	return widest;
}

/* Leaves out columns that the terminal has no room for: their width becomes 0. */
static void spare_columns(const struct grid *g, struct layout *l)
{
	size_t enough = g->name_width ? g->name_width : NAME_ENOUGH;
	size_t names = widest_names(g, l->widths), cut = 0;

	if (whole_width(g, l) <= g->max_width)
		return;
	for (size_t i = 0; i < g->nr_columns; i++)
		if (g->columns[i].left && i != names && l->widths[i] > NAME_ENOUGH)
			l->widths[i] = NAME_ENOUGH;
	if (names < g->nr_columns && l->widths[names] > enough)
		cut = l->widths[names] - enough;
	for (const char *const *key = g->spare;
	     key && *key && whole_width(g, l) - cut > g->max_width; key++) {
		if (!**key)
			l->gap = 1;
		for (size_t i = 0; i < g->nr_columns; i++)
			if (g->columns[i].key && !strcmp(g->columns[i].key, *key))
				l->widths[i] = 0;
	}
}

/* Cuts the names to the columns that are left, but keeps enough to tell them apart. */
static void cut_names(const struct grid *g, struct layout *l)
{
	size_t whole = whole_width(g, l), names = widest_names(g, l->widths), room;

	if (whole <= g->max_width || names == g->nr_columns)
		return;
	room = whole - l->widths[names];
	room = g->max_width > room ? g->max_width - room : 0;
	if (l->widths[names] > NAME_MIN)
		l->widths[names] = room > NAME_MIN ? room : NAME_MIN;
}

static bool is_in_text(const struct grid *g, const struct grid_column *c)
{
	return c->heading && !(g->not_in_text && c->key && !strcmp(c->key, g->not_in_text));
}

static void write_lines(struct buffer *b, const struct grid *g, uint32_t max_rows, bool marked)
{
	size_t nr = rows_of(g, max_rows), left_out = g->nr_cells / g->nr_columns - nr;
	struct layout l = { xcalloc(g->nr_columns, sizeof(*l.widths)), 2 };

	for (size_t i = 0; i < g->nr_columns; i++)
		l.widths[i] = is_in_text(g, &g->columns[i]) ? width_of(g, i, nr, marked) : 0;
	if (!marked && g->max_width && !g->folds) {
		spare_columns(g, &l);
		cut_names(g, &l);
	}
	for (size_t i = marked || has_headings(g) ? 0 : 1; i <= nr; i++) {
		if (i == 1 && marked)
			add_rule(b, g, l.widths);
		if (marked)
			add_marked_row(b, g, i, l.widths);
		else
			add_row(b, g, i, &l);
	}
	if (left_out && marked)
		buffer_add_char(b, '\n');
	if (left_out)
		number_add_more(b, left_out, "row", "rows");
	free(l.widths);
}

void grid_write_text(struct buffer *b, const struct grid *g, uint32_t max_rows)
{
	write_lines(b, g, max_rows, false);
}

void grid_write_markdown(struct buffer *b, const struct grid *g, uint32_t max_rows)
{
	write_lines(b, g, max_rows, true);
}

void grid_write_json(struct buffer *b, const struct grid *g, uint32_t max_rows)
{
	size_t nr = rows_of(g, max_rows);

	buffer_add_char(b, '[');
	for (size_t i = 0; i < nr; i++) {
		const char *separator = "";

		buffer_add_string(b, i ? ",\n{" : "\n{");
		for (size_t k = 0; k < g->nr_columns; k++) {
			size_t at = i * g->nr_columns + k, start = g->cells[at].json;
			size_t end = at + 1 < g->nr_cells ? g->cells[at + 1].json : g->json.size;

			if (!g->columns[k].key)
				continue;
			buffer_printf(b, "%s\"%s\": ", separator, g->columns[k].key);
			if (start == end)
				buffer_add_string(b, "null");
			else
				buffer_add(b, g->json.data + start, end - start);
			separator = ", ";
		}
		buffer_add_char(b, '}');
	}
	buffer_add_string(b, nr ? "\n]" : "]");
}
