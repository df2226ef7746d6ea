/*
 * Writes the report by line as JSON, one row per line of text, so that two reports can be compared
 * as text.
 */
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/lines_table.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { VERSION = 1 };

static void add_ends(struct buffer *b, const uint64_t *ends)
{
	buffer_printf(b,
		      "\"ends\": {\"python\": %llu, \"native\": %llu, \"kernel\": %llu, "
		      "\"gpu\": %llu}",
		      (unsigned long long)ends[LINES_END_PYTHON],
		      (unsigned long long)ends[LINES_END_NATIVE],
		      (unsigned long long)ends[LINES_END_KERNEL],
		      (unsigned long long)ends[LINES_END_GPU]);
}

static void add_memory(struct buffer *b, const char *key, const struct lines_memory *m)
{
	buffer_printf(b, "\"%s\": {\"bytes\": %llu, \"margin\": %llu, \"blocks\": %llu}", key,
		      (unsigned long long)m->bytes, (unsigned long long)m->margin,
		      (unsigned long long)m->blocks);
}

static void add_sum(struct buffer *b, const struct lines_sum *sum, bool has_memory)
{
	buffer_printf(b,
		      "\"self\": %llu, \"total\": %llu, \"self_events\": %llu, \"total_events\": "
		      "%llu, ",
		      (unsigned long long)sum->self, (unsigned long long)sum->total,
		      (unsigned long long)sum->self_samples,
		      (unsigned long long)sum->total_samples);
	add_ends(b, sum->ends);
	if (!has_memory)
		return;
	buffer_printf(b, ", \"self_margin\": %llu, ", (unsigned long long)sum->self_margin);
	add_memory(b, "allocated", &sum->allocated);
	buffer_add_string(b, ", ");
	add_memory(b, "live", &sum->live);
}

static void add_function(struct buffer *b, const struct lines_function *f, bool has_memory)
{
	text_add_json_field(b, "{\"function\": ", f->name);
	text_add_json_field(b, ", \"file\": ", f->file);
	buffer_printf(b, ", \"start_line\": %u, ", f->start_line);
	add_sum(b, &f->sum, has_memory);
	buffer_add_string(b, ", \"lines\": [");
	for (uint32_t i = 0; i < f->nr_rows; i++) {
		buffer_printf(b, "%s\n{\"line\": %u, ", i ? "," : "", f->rows[i].line);
		add_sum(b, &f->rows[i].sum, has_memory);
		buffer_add_char(b, '}');
	}
	buffer_add_string(b, "]}");
}

size_t lines_json_write(struct buffer *b, const struct lines *lines, const struct summary *summary,
			const struct lines_opts *opts)
{
	static const char *const units[] = {
		[UNIT_NS] = "ns", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"
	};
	size_t nr = 0;

	buffer_printf(b, "{\n\"version\": %d,\n\"column\": ", VERSION);
	text_add_json(b, summary->info->name);
	buffer_printf(b,
		      ",\n\"unit\": \"%s\",\n\"total\": %llu,\n\"events\": %llu,\n\"lost\": %llu,\n"
		      "\"without_lines\": %llu,\n",
		      units[summary->info->unit], (unsigned long long)lines->total,
		      (unsigned long long)lines->total_samples, (unsigned long long)summary->lost,
		      (unsigned long long)lines->without);
	add_ends(b, lines->ends);
	buffer_add_string(b, ",\n\"functions\": [");
	for (size_t i = 0; i < lines->nr_functions; i++) {
		const struct lines_function *f = &lines->functions[i];

		if (!lines_matches(f, opts->source ? opts->source : "", opts->function))
			continue;
		nr++;
		if (opts->max_functions && nr > opts->max_functions)
			continue;
		buffer_add_string(b, nr > 1 ? ",\n" : "\n");
		add_function(b, f, lines->has_memory);
	}
	buffer_add_string(b, "\n]\n}\n");
	return nr;
}
