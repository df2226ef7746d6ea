/*
 * Writes the report as JSON, one row per line of text, so that two reports can be compared as text.
 */
#include "output/report/table_json.h"

#include <stdio.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/tree/margins.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { VERSION = 2 };

static void add_string(struct buffer *b, const char *key, const char *value)
{
	buffer_printf(b, "\"%s\": ", key);
	text_add_json(b, value);
}

static void add_number(struct buffer *b, const char *key, uint64_t value)
{
	buffer_printf(b, "\"%s\": ", key);
	buffer_add_u64(b, value);
}

/* Appends value / 10^decimals exactly, with a point in every locale. */
static void add_decimal(struct buffer *b, const char *key, uint64_t value, int decimals)
{
	uint64_t unit = 1;

	for (int i = 0; i < decimals; i++)
		unit *= 10;
	add_number(b, key, value / unit);
	buffer_printf(b, ".%0*llu", decimals, (unsigned long long)(value % unit));
}

static void add_reasons(struct buffer *b, const struct summary *s)
{
	const char *separator = "";

	buffer_add_string(b, "\"incomplete_by\": {");
	for (int i = 0; i < NR_MARKERS; i++) {
		if (!s->incomplete_by[i])
			continue;
		buffer_add_string(b, separator);
		add_number(b, marker_name(i), s->incomplete_by[i]);
		separator = ", ";
	}
	buffer_add_string(b, "},\n");
}

/* The key of values beside the counts; NULL where values are counts. */
static const char *unit_name(const struct summary *s)
{
	switch ((enum column_unit)s->info->unit) {
	case UNIT_NS: return "ns";
	case UNIT_BYTES: return "bytes";
	case UNIT_COUNT: break;
	}
	if (column_is_event(s->column))
		return "events";
	/* A count that is not one of samples. */
	return s->info->counted_by == NR_COLUMNS ? s->info->name : NULL;
}

static void add_head(struct buffer *b, const struct summary *s, const char *key, const char *by)
{
	buffer_printf(b, "{\n\"version\": %d,\n", VERSION);
	add_string(b, key, by);
	buffer_add_string(b, ",\n");
	add_string(b, "command", s->command);
	buffer_add_string(b, ",\n");
	add_string(b, "source", s->source);
	buffer_add_string(b, ",\n");
	add_string(b, "event", s->event);
	buffer_add_string(b, ",\n");
	add_string(b, "column", s->info->name);
	buffer_add_string(b, ",\n");
	add_number(b, "samples", s->samples);
	buffer_add_string(b, ",\n");
	if (unit_name(s)) {
		add_number(b, unit_name(s), s->total);
		buffer_add_string(b, ",\n");
	}
	add_number(b, "filtered", s->filtered_samples);
	buffer_add_string(b, ",\n");
	add_number(b, "idle_samples", s->idle_samples);
	buffer_add_string(b, ",\n");
	add_number(b, "idle", s->idle);
	buffer_add_string(b, ",\n");
	add_number(b, "idle_threads", s->idle_threads);
	buffer_add_string(b, ",\n");
	add_number(b, "lost", s->lost);
	if (s->lost_more)
		buffer_add_string(b, ",\n\"lost_more\": true");
	buffer_add_string(b, ",\n");
	add_number(b, "incomplete", s->incomplete);
	buffer_add_string(b, ",\n");
	add_reasons(b, s);
	add_number(b, "unnamed", s->unnamed);
	buffer_add_string(b, ",\n");
	add_number(b, "throttled", s->throttled);
	buffer_add_string(b, ",\n");
	add_number(b, "limits", s->limits);
	buffer_add_string(b, ",\n");
	add_decimal(b, "duration", s->duration_ns, 9);
	buffer_add_string(b, ",\n");
	add_number(b, "frequency", s->freq_hz);
	buffer_printf(b, ",\n\"unfinished\": %s,\n\"rows\": ", s->unfinished ? "true" : "false");
}

/* "self": 12, "self_margin": 3, "self_percent": 1.2345, "self_ns": 12000000 */
static void add_value(struct buffer *b, const struct summary *s, const char *key, uint64_t weight,
		      uint64_t samples)
{
	char name[32];

	buffer_add_string(b, ", ");
	add_number(b, key, samples);
	snprintf(name, sizeof(name), "%s_margin", key);
	buffer_add_string(b, ", ");
	add_number(b, name, s->info->exact ? 0 : number_margin(samples, s->samples));
	snprintf(name, sizeof(name), "%s_percent", key);
	buffer_add_string(b, ", ");
	add_decimal(b, name, number_scale(weight, 1000000, s->total), 4);
	if (!unit_name(s))
		return;
	snprintf(name, sizeof(name), "%s_%s", key, unit_name(s));
	buffer_add_string(b, ", ");
	add_number(b, name, weight);
}

/* The error in the unit of the column, where it is known. */
static void add_margins(struct buffer *b, const struct summary *s, uint64_t self, uint64_t total)
{
	buffer_printf(b, ", \"self_%s_margin\": ", unit_name(s));
	buffer_add_u64(b, self);
	buffer_printf(b, ", \"total_%s_margin\": ", unit_name(s));
	buffer_add_u64(b, total);
}

static void add_gil(struct buffer *b, const struct tree_gil *gil)
{
	buffer_add_string(b, ", ");
	if (gil->known)
		add_decimal(b, "self_gil_percent", number_scale(gil->held, 1000000, gil->known), 4);
	else
		buffer_add_string(b, "\"self_gil_percent\": null");
}

static void add_row(struct buffer *b, const struct summary *s, const struct ranking_row *row)
{
	const struct tree_function *f = row->function;

	add_string(b, "function", f->name);
	buffer_add_string(b, ", ");
	add_string(b, "module", f->module);
	buffer_add_string(b, ", ");
	add_string(b, "kind", ranking_kind_name(f->kind));
	add_value(b, s, "self", row->sum.self, row->sum.self_samples);
	add_value(b, s, "total", row->sum.total, row->sum.total_samples);
	buffer_add_string(b, ", ");
	add_string(b, "file", f->file);
	buffer_add_string(b, ", ");
	add_number(b, "line", f->line);
}

static void add_one_ratio(struct buffer *b, const char *key, double value)
{
	if (value < 0)
		buffer_printf(b, ", \"%s\": null", key);
	else
		buffer_printf(b, ", \"%s\": %.9g", key, value);
}

static void add_ratio(struct buffer *b, const struct tree_ratio *ratio,
		      const struct ranking_row *row)
{
	buffer_add_string(b, ", ");
	add_string(b, "per", ratio->name);
	add_one_ratio(b, "self_ratio", row->self_ratio);
	add_one_ratio(b, "total_ratio", row->total_ratio);
}

void report_json_write(struct buffer *b, const struct tree *tree, const struct summary *summary,
		       enum ranking_key key, const char *by, uint32_t max_rows)
{
	const struct tree_margins *margins = tree->margins;
	struct ranking ranking;

	ranking_init(&ranking, tree, key);
	add_head(b, summary, "by", by);
	buffer_add_char(b, '[');
	for (uint32_t i = 0; i < ranking.nr_rows && (!max_rows || i < max_rows); i++) {
		buffer_add_string(b, i ? ",\n{" : "\n{");
		add_row(b, summary, &ranking.rows[i]);
		if (margins) {
			size_t n = (size_t)(ranking.rows[i].function - tree->functions.list);

			add_margins(b, summary, margins->self[n], margins->total[n]);
		}
		if (tree->gil)
			add_gil(b, &ranking.rows[i].gil);
		if (tree->ratio)
			add_ratio(b, tree->ratio, &ranking.rows[i]);
		buffer_add_char(b, '}');
	}
	buffer_add_string(b, ranking.nr_rows ? "\n]\n}\n" : "]\n}\n");
	ranking_fini(&ranking);
}

void report_json_write_tree(struct buffer *b, const struct tree *tree,
			    const struct summary *summary, const char *by)
{
	add_head(b, summary, "by", by);
	buffer_add_char(b, '[');
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_node *n = &tree->nodes[i];
		const struct ranking_row row = {
			.function = tree_function_of(tree, i),
			.sum = { .self = tree_self(tree, n),
				 .total = tree_total(tree, n),
				 .self_samples = tree_events_of(tree, n).self,
				 .total_samples = tree_events_of(tree, n).total },
		};

		buffer_printf(b, "%s\n{\"id\": %u, \"parent\": ", i ? "," : "", i);
		if (i)
			buffer_add_u64(b, n->parent);
		else
			buffer_add_string(b, "null");
		buffer_printf(b, ", \"depth\": %u, ", n->depth);
		add_row(b, summary, &row);
		if (tree->margins)
			add_margins(b, summary, tree->margins->node_self[i],
				    tree->margins->node_total[i]);
		buffer_add_char(b, '}');
	}
	buffer_add_string(b, "\n]\n}\n");
}

void report_json_write_grids(struct buffer *b, const struct summary *summary, const char *report,
			     const struct grid *grid, uint32_t max_rows, const char *name,
			     const struct grid *second)
{
	add_head(b, summary, "report", report);
	grid_write_json(b, grid, max_rows);
	if (second) {
		buffer_printf(b, ",\n\"%s\": ", name);
		grid_write_json(b, second, 0);
	}
	buffer_add_string(b, "\n}\n");
}

void report_json_write_grid(struct buffer *b, const struct summary *summary, const char *report,
			    const struct grid *grid, uint32_t max_rows)
{
	report_json_write_grids(b, summary, report, grid, max_rows, NULL, NULL);
}
