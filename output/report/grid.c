/*
 * Fills grids. Each cell becomes text and JSON when it is added. The bytes of all cells lie one
 * after the other, so a table of a million rows is not a million small pieces of memory.
 * grid_write.c writes them.
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

#define INDENT_MAX 200 /* columns: a hostile profile may nest to any depth */

void grid_init(struct grid *g, const struct grid_column *columns, size_t nr)
{
	*g = (struct grid){ .columns = columns, .nr_columns = nr };
}

void grid_fini(struct grid *g)
{
	buffer_fini(&g->text);
	buffer_fini(&g->json);
	free(g->cells);
}

struct buffer *grid_cell(struct grid *g)
{
	g->cells = xgrow(g->cells, &g->capacity, g->nr_cells + 1, sizeof(*g->cells));
	g->cells[g->nr_cells++] = (struct grid_cell){ .text = g->text.size,
						      .json = g->json.size,
						      .kind = GRID_CUT_AT_END };
	return &g->text;
}

struct buffer *grid_last_cell(struct grid *g)
{
	while ((g->nr_cells + 1) % g->nr_columns)
		grid_cell(g);
	return grid_cell(g);
}

void grid_name(struct grid *g, const char *s, uint8_t kind, size_t indent, const char *mark)
{
	struct buffer *text = grid_cell(g);
	struct grid_cell *c = &g->cells[g->nr_cells - 1];

	align_add_spaces(text, (indent < INDENT_MAX ? indent : INDENT_MAX) - strlen(mark));
	buffer_add_string(text, mark);
	c->prefix = (uint32_t)(text->size - c->text);
	c->kind = kind;
	text_add_clean(text, s, strlen(s));
	if (g->columns[(g->nr_cells - 1) % g->nr_columns].key)
		text_add_json(&g->json, s);
}

void grid_path(struct grid *g, const char *s, size_t depth)
{
	grid_name(g, s, FUNCTION_UNKNOWN, 2 * depth, "");
}

void grid_text(struct grid *g, const char *s)
{
	grid_path(g, s, 0);
}

void grid_count(struct grid *g, uint64_t n)
{
	buffer_add_u64(grid_cell(g), n);
	buffer_add_u64(&g->json, n);
}

void grid_time(struct grid *g, uint64_t ns)
{
	number_add_time(grid_cell(g), ns);
	buffer_add_u64(&g->json, ns);
}

void grid_seconds(struct grid *g, uint64_t ns, int decimals)
{
	struct buffer *text = grid_cell(g);
	uint64_t unit = 1, rounded;

	for (int i = 0; i < decimals; i++)
		unit *= 10;
	rounded = number_scale(ns, unit, 1000000000);
	buffer_printf(text, "%" PRIu64 ".%0*" PRIu64, rounded / unit, decimals, rounded % unit);
	buffer_add_u64(&g->json, ns);
}

void grid_bytes(struct grid *g, uint64_t bytes)
{
	number_add_bytes(grid_cell(g), bytes);
	buffer_add_u64(&g->json, bytes);
}

void grid_signed_bytes(struct grid *g, int64_t bytes)
{
	struct buffer *text = grid_cell(g);
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes)
		buffer_add_char(text, bytes < 0 ? '-' : '+');
	number_add_bytes(text, size);
	buffer_printf(&g->json, "%" PRId64, bytes);
}

void grid_share(struct grid *g, uint64_t part, uint64_t whole)
{
	uint64_t hundredths = number_scale(part, 10000, whole);

	number_add_percent(grid_cell(g), part, whole);
	buffer_printf(&g->json, "%" PRIu64 ".%02u", hundredths / 100, (unsigned)(hundredths % 100));
}

void grid_rate(struct grid *g, uint64_t bytes, uint64_t ns)
{
	uint64_t rate = number_scale(bytes, 1000000000, ns);
	struct buffer *text;

	if (!ns) {
		grid_none(g);
		return;
	}
	text = grid_cell(g);
	number_add_bytes(text, rate);
	buffer_add_string(text, "/s");
	buffer_add_u64(&g->json, rate);
}

void grid_per_second(struct grid *g, uint64_t n, uint64_t ns)
{
	uint64_t thousandths = number_scale(n, 1000000000000, ns);
	struct buffer *text;

	if (!ns) {
		grid_none(g);
		return;
	}
	text = grid_cell(g);
	if (thousandths < 100000)
		buffer_printf(text, "%" PRIu64 ".%02u", thousandths / 1000,
			      (unsigned)(thousandths % 1000 / 10));
	else
		buffer_add_u64(text, (thousandths + 500) / 1000);
	buffer_printf(&g->json, "%" PRIu64 ".%03u", thousandths / 1000,
		      (unsigned)(thousandths % 1000));
}

void grid_operations(struct grid *g, unsigned __int128 n)
{
	const uint64_t billion = 1000000000;
	uint64_t parts[5] = { 0 }; /* of nine digits each, the last one first */
	int last = 0;

	number_add_operations(grid_cell(g), (double)n);
	for (int i = 0; i < 5 && n; i++, n /= billion) {
		parts[i] = (uint64_t)(n % billion);
		last = i;
	}
	buffer_add_u64(&g->json, parts[last]);
	while (last--)
		buffer_printf(&g->json, "%09" PRIu64, parts[last]);
}

void grid_operations_rate(struct grid *g, double per_s)
{
	struct buffer *text;

	if (!(per_s > 0)) {
		grid_none(g);
		return;
	}
	text = grid_cell(g);
	number_add_operations(text, per_s);
	buffer_add_string(text, "/s");
	buffer_printf(&g->json, "%.0f", per_s);
}

void grid_value(struct grid *g, enum profile_column column, uint64_t value)
{
	number_add_value(grid_cell(g), column, value);
	buffer_add_u64(&g->json, value);
}

void grid_estimate(struct grid *g, uint64_t n, uint64_t margin)
{
	buffer_add_u64(grid_cell(g), n);
	buffer_printf(&g->text, "%s%" PRIu64, g->unicode ? "\xc2\xb1" : "+-", margin);
	buffer_add_u64(&g->json, n);
}

void grid_shape(struct grid *g, const uint64_t shape[3])
{
	buffer_printf(grid_cell(g), "%" PRIu64 "x%" PRIu64 "x%" PRIu64, shape[0], shape[1],
		      shape[2]);
	buffer_printf(&g->json, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", shape[0], shape[1],
		      shape[2]);
}

void grid_none(struct grid *g)
{
	buffer_add_char(grid_cell(g), '-');
}

void grid_style(struct grid *g, const char *style)
{
	g->cells[g->nr_cells - 1].style = style;
}

void grid_style_row(struct grid *g, const char *style)
{
	for (size_t i = 1; i <= g->nr_columns; i++)
		g->cells[g->nr_cells - i].style = style;
}
