/*
 * Writes the report as CSV or tab-separated lines. Values are in the unit of the column, margins in
 * events; of sampled memory there is also the margin in the unit of the column.
 */
#include "output/report/row_cells.h"

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/cells.h"
#include "output/text/number.h"
#include "output/tree/margins.h"
#include "output/tree/summary.h"

struct sums {
	uint64_t value, events;
};

static void add_headings(struct buffer *b, char separator, const char *const *headings)
{
	for (; *headings; headings++) {
		buffer_add_string(b, *headings);
		buffer_add_char(b, separator);
	}
}

static void add_sums(struct buffer *b, char separator, const struct summary *s, struct sums sums)
{
	uint64_t percent = number_scale(sums.value, 1000000, s->total);

	cells_add_number(b, separator, sums.value);
	buffer_printf(b, "%llu.%04llu%c", (unsigned long long)percent / 10000,
		      (unsigned long long)percent % 10000, separator);
	cells_add_number(b, separator, sums.events);
	if (!s->info->exact)
		buffer_add_u64(b, number_margin(sums.events, s->samples));
	buffer_add_char(b, separator);
}

static void add_names(struct buffer *b, char separator, const struct tree_function *f)
{
	cells_add_text(b, separator, f->name);
	cells_add_text(b, separator, f->module);
	cells_add_text(b, separator, ranking_kind_name(f->kind));
	cells_add_text(b, separator, f->file);
	cells_add_number(b, separator, f->line);
}

static void add_gil(struct buffer *b, char separator, const struct tree_gil *gil)
{
	uint64_t percent = gil->known ? number_scale(gil->held, 1000000, gil->known) : 0;

	if (gil->known)
		buffer_printf(b, "%llu.%04llu", (unsigned long long)percent / 10000,
			      (unsigned long long)percent % 10000);
	buffer_add_char(b, separator);
}

static void add_ratio(struct buffer *b, char separator, double value)
{
	if (value >= 0)
		buffer_printf(b, "%.9g", value);
	buffer_add_char(b, separator);
}

/* `number` is that of a function or a node. */
static void add_margins(struct buffer *b, char separator, const uint64_t *self,
			const uint64_t *total, size_t number)
{
	cells_add_number(b, separator, self[number]);
	cells_add_number(b, separator, total[number]);
}

static void add_heading_line(struct buffer *b, char separator, const char *by, bool has_margins,
			     bool has_gil, bool has_ratio)
{
	const char *const headings[] = {
		by,
		"module",
		"kind",
		"file",
		"line",
		"self",
		"self_percent",
		"self_events",
		"self_margin",
		"total",
		"total_percent",
		"total_events",
		"total_margin",
		NULL,
	};
	static const char *const margins[] = { "self_value_margin", "total_value_margin", NULL };
	static const char *const gil[] = { "self_gil_percent", NULL };
	static const char *const ratio[] = { "self_ratio", "total_ratio", NULL };

	add_headings(b, separator, headings);
	if (has_margins)
		add_headings(b, separator, margins);
	if (has_gil)
		add_headings(b, separator, gil);
	if (has_ratio)
		add_headings(b, separator, ratio);
	cells_end(b);
}

void report_cells_write(struct buffer *b, char separator, const struct tree *tree,
			const struct summary *summary, enum ranking_key key, const char *by,
			uint32_t max_rows)
{
	struct ranking ranking;

	ranking_init(&ranking, tree, key);
	add_heading_line(b, separator, by, tree->margins, tree->gil, tree->ratio);
	for (uint32_t i = 0; i < ranking.nr_rows && (!max_rows || i < max_rows); i++) {
		const struct tree_sum *sum = &ranking.rows[i].sum;

		add_names(b, separator, ranking.rows[i].function);
		add_sums(b, separator, summary, (struct sums){ sum->self, sum->self_samples });
		add_sums(b, separator, summary, (struct sums){ sum->total, sum->total_samples });
		if (tree->margins)
			add_margins(b, separator, tree->margins->self, tree->margins->total,
				    (size_t)(ranking.rows[i].function - tree->functions.list));
		if (tree->gil)
			add_gil(b, separator, &ranking.rows[i].gil);
		if (tree->ratio) {
			add_ratio(b, separator, ranking.rows[i].self_ratio);
			add_ratio(b, separator, ranking.rows[i].total_ratio);
		}
		cells_end(b);
	}
	ranking_fini(&ranking);
}

void report_cells_write_tree(struct buffer *b, char separator, const struct tree *tree,
			     const struct summary *summary, const char *by)
{
	static const char *const place[] = { "id", "parent", "depth", NULL };

	add_headings(b, separator, place);
	add_heading_line(b, separator, by, tree->margins, false, false);
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];

		cells_add_number(b, separator, i);
		if (i)
			buffer_add_u64(b, n->parent);
		buffer_add_char(b, separator);
		cells_add_number(b, separator, n->depth);
		add_names(b, separator, tree_function_of(tree, i));
		add_sums(b, separator, summary,
			 (struct sums){ tree_self(tree, n), tree_events_of(tree, n).self });
		add_sums(b, separator, summary,
			 (struct sums){ tree_total(tree, n), tree_events_of(tree, n).total });
		if (tree->margins)
			add_margins(b, separator, tree->margins->node_self,
				    tree->margins->node_total, i);
		cells_end(b);
	}
}
