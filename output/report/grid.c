/*
 * Keeps each cell as text and as JSON from the moment it is added. Writing is then only alignment:
 * columns get the width of their widest cell, and in a narrow terminal some columns are left out
 * and names are cut.
 */
#include "output/report/grid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/align.h"
#include "output/text/number.h"
#include "output/text/text.h"

enum { NAME_ENOUGH = 24, NAME_MIN = 14 }; /* terminal columns */

struct grid_cell {
	struct buffer text, json;
};

void grid_init(struct grid *g, const struct grid_column *columns, size_t nr)
{
	*g = (struct grid){ .columns = columns, .nr_columns = nr };
}

void grid_fini(struct grid *g)
{
	for (size_t i = 0; i < g->nr_cells; i++) {
		buffer_fini(&g->cells[i].text);
		buffer_fini(&g->cells[i].json);
	}
	free(g->cells);
}

static struct grid_cell *next_cell(struct grid *g)
{
	g->cells = xgrow(g->cells, &g->capacity, g->nr_cells + 1, sizeof(*g->cells));
	g->cells[g->nr_cells] = (struct grid_cell){ 0 };
	return &g->cells[g->nr_cells++];
}

void grid_path(struct grid *g, const char *s, size_t depth)
{
	struct grid_cell *c = next_cell(g);

	while (depth--)
		/* no-break spaces, which Markdown keeps */
		buffer_add_string(&c->text, "\xc2\xa0\xc2\xa0");
	text_add_clean(&c->text, s, strlen(s));
	text_add_json(&c->json, s);
}

void grid_text(struct grid *g, const char *s)
{
	grid_path(g, s, 0);
}

void grid_count(struct grid *g, uint64_t n)
{
	struct grid_cell *c = next_cell(g);

	buffer_add_u64(&c->text, n);
	buffer_add_u64(&c->json, n);
}

void grid_time(struct grid *g, uint64_t ns)
{
	struct grid_cell *c = next_cell(g);

	number_add_time(&c->text, ns);
	buffer_add_u64(&c->json, ns);
}

void grid_seconds(struct grid *g, uint64_t ns, int decimals)
{
	struct grid_cell *c = next_cell(g);
	uint64_t unit = 1, rounded;

	for (int i = 0; i < decimals; i++)
		unit *= 10;
	rounded = number_scale(ns, unit, 1000000000);
	buffer_printf(&c->text, "%" PRIu64 ".%0*" PRIu64, rounded / unit, decimals, rounded % unit);
	buffer_add_u64(&c->json, ns);
}

void grid_bytes(struct grid *g, uint64_t bytes)
{
	struct grid_cell *c = next_cell(g);

	number_add_bytes(&c->text, bytes);
	buffer_add_u64(&c->json, bytes);
}

void grid_signed_bytes(struct grid *g, int64_t bytes)
{
	struct grid_cell *c = next_cell(g);
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes)
		buffer_add_char(&c->text, bytes < 0 ? '-' : '+');
	number_add_bytes(&c->text, size);
	buffer_printf(&c->json, "%" PRId64, bytes);
}

void grid_share(struct grid *g, uint64_t part, uint64_t whole)
{
	struct grid_cell *c = next_cell(g);
	uint64_t hundredths = number_scale(part, 10000, whole);

	number_add_percent(&c->text, part, whole);
	buffer_printf(&c->json, "%" PRIu64 ".%02u", hundredths / 100, (unsigned)(hundredths % 100));
}

void grid_rate(struct grid *g, uint64_t bytes, uint64_t ns)
{
	uint64_t rate = number_scale(bytes, 1000000000, ns);
	struct grid_cell *c;

	if (!ns) {
		grid_none(g);
		return;
	}
	c = next_cell(g);
	number_add_bytes(&c->text, rate);
	buffer_add_string(&c->text, "/s");
	buffer_add_u64(&c->json, rate);
}

void grid_per_second(struct grid *g, uint64_t n, uint64_t ns)
{
	uint64_t thousandths = number_scale(n, 1000000000000, ns);
	struct grid_cell *c;

	if (!ns) {
		grid_none(g);
		return;
	}
	c = next_cell(g);
	if (thousandths < 100000)
		buffer_printf(&c->text, "%" PRIu64 ".%02u", thousandths / 1000,
			      (unsigned)(thousandths % 1000 / 10));
	else
		buffer_add_u64(&c->text, (thousandths + 500) / 1000);
	buffer_printf(&c->json, "%" PRIu64 ".%03u", thousandths / 1000,
		      (unsigned)(thousandths % 1000));
}

void grid_value(struct grid *g, enum profile_column column, uint64_t value)
{
	struct grid_cell *c = next_cell(g);

	number_add_value(&c->text, column, value);
	buffer_add_u64(&c->json, value);
}

void grid_estimate(struct grid *g, uint64_t n, uint64_t margin)
{
	struct grid_cell *c = next_cell(g);

	buffer_add_u64(&c->text, n);
	buffer_printf(&c->text, "%s%" PRIu64, g->unicode ? "\xc2\xb1" : "+-", margin);
	buffer_add_u64(&c->json, n);
}

void grid_shape(struct grid *g, const uint64_t shape[3])
{
	struct grid_cell *c = next_cell(g);

	buffer_printf(&c->text, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, shape[0], shape[1], shape[2]);
	buffer_printf(&c->json, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", shape[0], shape[1],
		      shape[2]);
}

void grid_none(struct grid *g)
{
	struct grid_cell *c = next_cell(g);

	buffer_add_char(&c->text, '-');
	buffer_add_string(&c->json, "null");
}

/* ---- writing */
static size_t rows_of(const struct grid *g, uint32_t max_rows)
{
	size_t nr = g->nr_cells / g->nr_columns;

	return max_rows && max_rows < nr ? max_rows : nr;
}

static const struct grid_cell *cell_at(const struct grid *g, size_t row, size_t column)
{
	return &g->cells[row * g->nr_columns + column];
}

/* Would Markdown take the character for markup? It then needs a backslash. */
static bool is_markup(char c)
{
	return c && strchr("|<*`[\\", c);
}

/* The columns of the widest cell; `marked`: with the backslashes of Markdown. */
static size_t width_of(const struct grid *g, size_t column, size_t nr_rows, bool marked)
{
	size_t width = text_columns(g->columns[column].heading, strlen(g->columns[column].heading));

	for (size_t i = 0; i < nr_rows; i++) {
		const struct buffer *text = &cell_at(g, i, column)->text;
		size_t columns = text_columns(text->data, text->size);

		for (size_t k = 0; marked && k < text->size; k++)
			columns += is_markup(text->data[k]);
		if (columns > width)
			width = columns;
	}
	return width;
}

static void add_times(struct buffer *b, char c, size_t nr)
{
	while (nr--)
		buffer_add_char(b, c);
}

static void add_aligned(struct buffer *b, const char *s, size_t size, size_t width, bool left,
			bool marked)
{
	size_t columns = text_columns(s, size), pad;

	for (size_t k = 0; marked && k < size; k++)
		columns += is_markup(s[k]);
	pad = width > columns ? width - columns : 0;
	if (!left)
		add_times(b, ' ', pad);
	for (size_t i = 0; i < size; i++) {
		if (marked && is_markup(s[i]))
			buffer_add_char(b, '\\');
		buffer_add_char(b, s[i]);
	}
	if (left)
		add_times(b, ' ', pad);
}

/* Row 0 is the heading. */
static void add_row(struct buffer *b, const struct grid *g, size_t row, const size_t *widths,
		    bool marked)
{
	struct buffer cut = { 0 };
	bool first = true;

	for (size_t i = 0; i < g->nr_columns; i++) {
		const struct grid_column *c = &g->columns[i];
		const struct buffer *text = row ? &cell_at(g, row - 1, i)->text : NULL;
		const char *s;
		size_t size;

		if (!widths[i])
			continue;
		buffer_add_string(b, marked ? (first ? "| " : " | ") : first ? "" : "  ");
		s = text ? text->data : c->heading;
		size = text ? text->size : strlen(c->heading);
		cut.size = 0;
		if (!marked && text_columns(s, size) > widths[i]) {
			align_add_cut(&cut, s, size, widths[i], g->unicode);
			s = cut.data;
			size = cut.size;
		}
		add_aligned(b, s, size, widths[i], c->left, marked);
		first = false;
	}
	if (marked)
		buffer_add_string(b, " |");
	while (b->size && b->data[b->size - 1] == ' ')
		b->size--;
	buffer_add_char(b, '\n');
	buffer_fini(&cut);
}

static void add_rule(struct buffer *b, const struct grid *g, const size_t *widths)
{
	for (size_t i = 0; i < g->nr_columns; i++) {
		if (!widths[i])
			continue;
		buffer_add_string(b, "| ");
		add_times(b, '-', widths[i] - !g->columns[i].left);
		buffer_add_string(b, g->columns[i].left ? " " : ": ");
	}
	buffer_add_string(b, "|\n");
}

static size_t whole_width(const struct grid *g, const size_t *widths)
{
	size_t width = 0;

	for (size_t i = 0; i < g->nr_columns; i++)
		width += widths[i] ? widths[i] + 2 : 0;
	return width ? width - 2 : 0;
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
static void spare_columns(const struct grid *g, size_t *widths)
{
	size_t enough = g->name_width ? g->name_width : NAME_ENOUGH;
	size_t names = widest_names(g, widths), cut = 0;

	if (!g->max_width)
		return;
	if (names < g->nr_columns && widths[names] > enough)
		cut = widths[names] - enough;
	for (const char *const *key = g->spare;
	     key && *key && whole_width(g, widths) - cut > g->max_width; key++)
		for (size_t i = 0; i < g->nr_columns; i++)
			if (g->columns[i].key && !strcmp(g->columns[i].key, *key))
				widths[i] = 0;
}

/* Cuts the names to the columns that are left, but keeps enough to tell them apart. */
static void cut_names(const struct grid *g, size_t *widths)
{
	size_t whole = whole_width(g, widths), names = widest_names(g, widths), room;

	if (!g->max_width || whole <= g->max_width || names == g->nr_columns)
		return;
	room = whole - widths[names];
	room = g->max_width > room ? g->max_width - room : 0;
	if (widths[names] > NAME_MIN)
		widths[names] = room > NAME_MIN ? room : NAME_MIN;
}

static bool is_in_text(const struct grid *g, const struct grid_column *c)
{
	return c->heading && !(g->not_in_text && c->key && !strcmp(c->key, g->not_in_text));
}

static void write_lines(struct buffer *b, const struct grid *g, uint32_t max_rows, bool marked)
{
	size_t nr = rows_of(g, max_rows), left_out = g->nr_cells / g->nr_columns - nr;
	size_t *widths = xcalloc(g->nr_columns, sizeof(*widths));

	for (size_t i = 0; i < g->nr_columns; i++)
		widths[i] = is_in_text(g, &g->columns[i]) ? width_of(g, i, nr, marked) : 0;
	if (!marked) {
		spare_columns(g, widths);
		cut_names(g, widths);
	}
	add_row(b, g, 0, widths, marked);
	if (marked)
		add_rule(b, g, widths);
	for (size_t i = 0; i < nr; i++)
		add_row(b, g, i + 1, widths, marked);
	if (left_out && marked)
		buffer_add_char(b, '\n');
	if (left_out)
		number_add_more(b, left_out, "row", "rows");
	free(widths);
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
			const struct buffer *json = &cell_at(g, i, k)->json;

			if (!g->columns[k].key)
				continue;
			buffer_printf(b, "%s\"%s\": ", separator, g->columns[k].key);
			buffer_add(b, json->data, json->size);
			separator = ", ";
		}
		buffer_add_char(b, '}');
	}
	buffer_add_string(b, nr ? "\n]" : "]");
}
