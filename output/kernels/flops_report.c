/*
 * Writes the table of operations. Rates are operations divided by the time of the kernels that the
 * calls launched. Each row says what its operations were counted from, and each peak whose figures
 * it follows.
 */
#include "output/kernels/flops_report.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"
#include "output/kernels/gpu_peak.h"
#include "output/insight/gpu_report.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
#include "output/text/number.h"
#include "output/text/text.h"

enum { VERSION = 1, NAME = 40 /* columns */ };

static const struct {
	const char *name, *heading;
} rows_by[NR_FLOPS_BY] = {
	[FLOPS_BY_FUNCTION] = { "function", "Function" },
	[FLOPS_BY_LINE] = { "line", "Line" },
	[FLOPS_BY_OPERATOR] = { "operator", "Operator" },
	[FLOPS_BY_RANGE] = { "range", "Range" },
	[FLOPS_BY_CALL] = { "call", "Call" },
	[FLOPS_BY_KERNEL] = { "kernel", "Kernel" },
};

static enum flops_by find_rows(const char *name)
{
	enum flops_by by = 0;

	while (name && by < NR_FLOPS_BY && strcmp(rows_by[by].name, name) != 0)
		by++;
	return by;
}

bool flops_report_is_row(const char *name)
{
	return find_rows(name) < NR_FLOPS_BY;
}

static uint32_t types_of(const struct flops_rows *rows)
{
	uint32_t types = 0;

	for (size_t i = 0; i < rows->nr; i++)
		types |= rows->list[i].types;
	return types;
}

static void add_peaks(struct buffer *b, const struct profile *p, uint32_t types)
{
	const struct fact_gpu_device *d;
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	for (size_t i = 0; i < nr; i++)
		for (uint64_t type = 0; type < GPU_NR_FLOPS_TYPES; type++) {
			const char *name = profile_str(p, (uint32_t)d[i].name), *source;
			double peak = gpu_peak(p, &d[i], type, &source);

			if (!(types >> type & 1))
				continue;
			buffer_printf(b, "GPU %llu ", (unsigned long long)d[i].device);
			text_add_clean(b, name, strlen(name));
			buffer_printf(b, ", %s: ", gpu_peak_type_name(type));
			if (!(peak > 0)) {
				buffer_printf(b, "peak unknown (%s)\n", source);
				continue;
			}
			buffer_add_string(b, "peak ");
			number_add_operations(b, peak);
			buffer_printf(b, "/s, %llu SMs at %llu MHz (%s)\n",
				      (unsigned long long)d[i].nr_sms,
				      (unsigned long long)d[i].clock_khz / 1000, source);
		}
}

static void add_peaks_json(struct buffer *b, const struct profile *p, uint32_t types)
{
	static const struct grid_column columns[] = {
		{ "pid", "", false },	   { "device", "", false },	 { "name", "", false },
		{ "type", "", false },	   { "flops_per_s", "", false }, { "sms", "", false },
		{ "clock_hz", "", false }, { "from", "", false },
	};
	const struct fact_gpu_device *d;
	struct grid g;
	size_t nr;

	d = facts_rows(p, FACT_GPU_DEVICE, &nr);
	grid_init(&g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++)
		for (uint64_t type = 0; type < GPU_NR_FLOPS_TYPES; type++) {
			const char *source;
			double peak = gpu_peak(p, &d[i], type, &source);

			if (!(types >> type & 1))
				continue;
			grid_count(&g, d[i].pid);
			grid_count(&g, d[i].device);
			grid_text(&g, profile_str(p, (uint32_t)d[i].name));
			grid_text(&g, gpu_peak_type_name(type));
			grid_operations_rate(&g, peak);
			grid_count(&g, d[i].nr_sms);
			grid_count(&g, d[i].clock_khz * 1000);
			grid_text(&g, source);
		}
	grid_write_json(b, &g, 0);
	grid_fini(&g);
}

static void add_types(struct grid *g, uint32_t types)
{
	struct buffer text = { 0 };

	for (uint64_t type = 0; type < GPU_NR_FLOPS_TYPES; type++)
		if (types >> type & 1)
			buffer_printf(&text, "%s%s", text.size ? ", " : "",
				      gpu_peak_type_name(type));
	grid_text(g, buffer_cstring(&text));
	buffer_fini(&text);
}

static void add_calls(struct buffer *b, uint64_t nr, const char *what)
{
	if (nr)
		buffer_printf(b, "%s%s: %llu call%s", b->size ? "; " : "", what,
			      (unsigned long long)nr, nr == 1 ? "" : "s");
}

/* Says what the number of operations was counted from, and which calls it lacks. */
static void add_from(struct grid *g, const struct flops_row *r)
{
	struct buffer text = { 0 };

	if (r->from.size)
		buffer_add(&text, r->from.data, r->from.size);
	add_calls(&text, r->unknown, "unknown shape");
	add_calls(&text, r->saturated, "more than 2^64 operations, counted as so many");
	add_calls(&text, r->failed, "failed");
	add_calls(&text, r->captured, "captured into graphs");
	grid_text(g, buffer_cstring(&text));
	buffer_fini(&text);
}

static void add_row(struct grid *g, const struct flops_row *r)
{
	double rate = r->counted_ns ? (double)r->flops / (double)r->counted_ns * 1e9 : 0;
	double share = r->counted_ns ? r->ideal_ns / (double)r->counted_ns : 0;

	if (r->calls)
		grid_operations(g, r->flops);
	else
		grid_none(g);
	grid_count(g, r->calls);
	grid_time(g, r->gpu_ns);
	grid_time(g, r->counted_ns);
	grid_operations_rate(g, rate);
	if (r->has_peak && rate > 0 && share < 1e6)
		grid_share(g, (uint64_t)(share * 1e9), 1000000000);
	else if (r->calls && r->counted_ns)
		buffer_add_string(grid_cell(g), "peak unknown");
	else
		grid_none(g);
	add_types(g, r->types);
	grid_count(g, r->unknown);
	grid_count(g, r->saturated);
	grid_count(g, r->failed);
	grid_count(g, r->captured);
	grid_text(g, r->name);
	add_from(g, r);
}

static void add_notes(struct buffer *b, const struct profile *p, enum flops_by by)
{
	uint64_t full = facts_count(p, COUNTER_FLOPS_FULL),
		 missed = facts_count(p, COUNTER_FLOPS_READ_ONLY);

	if (by == FLOPS_BY_KERNEL)
		buffer_add_string(b, "The operations of a call are shared out to its kernels by "
				     "their time.\n");
	if (by == FLOPS_BY_RANGE)
		buffer_add_string(b, "A range includes the ranges inside it.\n");
	if (full)
		buffer_printf(b, "%llu calls are counted without a stack: the table was full.\n",
			      (unsigned long long)full);
	if (missed)
		buffer_printf(b,
			      "%llu imports are read-only: calls through them are missing here.\n",
			      (unsigned long long)missed);
}

bool flops_report_write(struct buffer *b, const struct profile *p, const char *name,
			const struct grid_report_opts *opts)
{
	static const char *const spare[] = { "type", "calls", "gpu_ns", NULL };
	enum flops_by by = name ? find_rows(name) : FLOPS_BY_FUNCTION;
	const struct grid_column columns[] = {
		{ "flops", "Operations", false },
		{ "calls", by == FLOPS_BY_KERNEL ? "Launches" : "Calls", false },
		{ "gpu_ns", "GPU time", false },
		{ "counted_gpu_ns", NULL, false },
		{ "flops_per_s", "Rate", false },
		{ "peak_share", "Of peak", false },
		{ "type", "Type", true },
		{ "unknown_shape_calls", NULL, false },
		{ "saturated_calls", NULL, false },
		{ "failed_calls", NULL, false },
		{ "captured_calls", NULL, false },
		{ "name", rows_by[by].heading, true },
		{ "from", "From", true },
	};
	struct flops_rows rows;
	struct grid g;
	bool any;

	flops_rows_init(&rows, p, by);
	any = rows.nr > 0;
	grid_report_init(&g, columns, ARRAY_SIZE(columns), opts);
	g.spare = spare;
	g.name_width = NAME;
	for (size_t i = 0; i < rows.nr; i++)
		add_row(&g, &rows.list[i]);
	if (any && opts->json) {
		buffer_printf(b, "{\n\"version\": %d,\n\"report\": \"flops\",\n\"by\": \"%s\",\n",
			      VERSION, rows_by[by].name);
		buffer_add_string(b, "\"peaks\": ");
		add_peaks_json(b, p, types_of(&rows));
		buffer_add_string(b, ",\n");
		gpu_report_add_trust_json(b, p);
		buffer_add_string(b, ",\n\"rows\": ");
		grid_write_json(b, &g, opts->max_rows);
		buffer_add_string(b, "\n}\n");
	} else if (any) {
		add_peaks(b, p, types_of(&rows));
		gpu_report_add_trust(b, p);
		if (b->size)
			buffer_add_char(b, '\n');
		grid_write_text(b, &g, opts->max_rows);
		add_notes(b, p, by);
	}
	grid_fini(&g);
	flops_rows_fini(&rows);
	return any;
}
