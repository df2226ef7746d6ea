/*
 * Writes a diff as JSON: the two profiles first, then one row per line, so that two diffs can be
 * compared as text.
 */
#include <math.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/diff_table.h"
#include "output/tree/ranking.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { VERSION = 2 };

static void add_string(struct buffer *b, const char *key, const char *value)
{
	buffer_printf(b, "\"%s\": ", key);
	text_add_json(b, value);
}

/* Appends a fraction as percent with four decimals, with a point in every locale. */
static void add_percent(struct buffer *b, const char *key, double fraction)
{
	uint64_t n = (uint64_t)llround(fabs(fraction) * 1000000);

	buffer_printf(b, "\"%s\": %s%llu.%04llu", key, fraction < 0 && n ? "-" : "",
		      (unsigned long long)(n / 10000), (unsigned long long)(n % 10000));
}

/* The key of values in JSON; NULL where values are counts. */
static const char *unit_name(const struct summary *s)
{
	return s->info->unit == UNIT_NS ? "ns" : s->info->unit == UNIT_BYTES ? "bytes" : NULL;
}

static void add_side(struct buffer *b, const char *key, const char *name, const struct summary *s)
{
	buffer_printf(b, "\"%s\": {", key);
	add_string(b, "file", name);
	buffer_add_string(b, ", ");
	add_string(b, "command", s->command);
	buffer_printf(b, ", \"column\": \"%s\", \"samples\": %llu", s->info->name,
		      (unsigned long long)s->samples);
	if (unit_name(s))
		buffer_printf(b, ", \"%s\": %llu", unit_name(s), (unsigned long long)s->total);
	buffer_printf(b, ", \"filtered\": %llu, \"lost\": %llu, \"unfinished\": %s},\n",
		      (unsigned long long)s->filtered_samples, (unsigned long long)s->lost,
		      s->unfinished ? "true" : "false");
}

static void add_amounts(struct buffer *b, const char *key, const struct diff_side *side,
			const struct summary *s)
{
	buffer_printf(b, "\"%s\": {\"self\": %llu, \"total\": %llu", key,
		      (unsigned long long)side->self.samples,
		      (unsigned long long)side->total.samples);
	if (unit_name(s))
		buffer_printf(b, ", \"self_%s\": %llu, \"total_%s\": %llu", unit_name(s),
			      (unsigned long long)side->self.value, unit_name(s),
			      (unsigned long long)side->total.value);
	buffer_add_string(b, "}, ");
}

static void add_change(struct buffer *b, const char *key, const struct diff_change *c)
{
	buffer_printf(b, "\"%s\": {", key);
	add_percent(b, "before_percent", c->before);
	buffer_add_string(b, ", ");
	add_percent(b, "after_percent", c->after);
	buffer_add_string(b, ", ");
	add_percent(b, "change_percent", c->change);
	buffer_add_string(b, ", ");
	add_percent(b, "margin_percent", c->margin);
	buffer_printf(b, ", \"significant\": %s}", c->significant ? "true" : "false");
}

static void add_row(struct buffer *b, const struct diff_view *v, const struct diff_row *row)
{
	buffer_add_char(b, '{');
	add_string(b, "function", row->function->name);
	buffer_add_string(b, ", ");
	add_string(b, "module", row->function->module);
	buffer_printf(b, ", \"kind\": \"%s\", ", ranking_kind_name(row->function->kind));
	add_amounts(b, "before", &row->before, v->before);
	add_amounts(b, "after", &row->after, v->after);
	add_change(b, "self", &row->self);
	buffer_add_string(b, ", ");
	add_change(b, "total", &row->total);
	buffer_add_char(b, '}');
}

void diff_json_write(struct buffer *b, const struct diff_view *v, const struct diff_row *rows,
		     uint32_t nr_rows, uint32_t max_rows)
{
	uint32_t nr = max_rows && max_rows < nr_rows ? max_rows : nr_rows;

	buffer_printf(b, "{\n\"version\": %d,\n\"absolute\": %s,\n\"by\": \"%s\",\n", VERSION,
		      v->diff->absolute ? "true" : "false", v->singular);
	add_side(b, "before", v->before_name, v->before);
	add_side(b, "after", v->after_name, v->after);
	buffer_add_string(b, "\"rows\": [");
	for (uint32_t i = 0; i < nr; i++) {
		buffer_add_string(b, i ? ",\n" : "\n");
		add_row(b, v, &rows[i]);
	}
	buffer_add_string(b, "\n]\n}\n");
}
