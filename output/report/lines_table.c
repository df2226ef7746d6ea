/*
 * Writes the report by line as text: a block per function with its title, its lines and their
 * source text. It can also print the columns of line_profiler (kernprof).
 */
#include "output/report/lines_table.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/text/source_text.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum { GAP = 3 }; /* a gap of up to so many lines without samples is shown */

struct block {
	struct buffer *b;
	const struct summary *summary;
	const struct lines_opts *opts;
	bool ends[NR_LINES_ENDS]; /* which of these columns are shown */
	bool has_memory;
	struct grid g; /* of the function */
	const struct lines_function *function;
	const struct source_text *source; /* or NULL */
};

static void add_share(struct block *k, uint64_t part, uint64_t whole)
{
	struct buffer *cell = grid_cell(&k->g);

	if (part)
		number_add_percent(cell, part, whole);
}

static void add_value(struct block *k, uint64_t value)
{
	struct buffer *cell = grid_cell(&k->g);

	if (value)
		summary_add_value(cell, k->summary, value);
}

/*
 * Adds the times of a row as line_profiler prints them. line_profiler counts how often a line ran;
 * sampling does not, so there is a dash instead of an invented number. Times are totals of the
 * line, in us.
 */
static void add_kernprof_times(struct block *k, const struct lines_sum *sum)
{
	uint64_t whole = k->function->sum.total;

	grid_none(&k->g);
	buffer_printf(grid_cell(&k->g), "%.1f", (double)sum->total / 1000);
	grid_none(&k->g);
	buffer_printf(grid_cell(&k->g), "%.1f",
		      whole ? 100 * (double)sum->total / (double)whole : 0);
}

/* Bytes and their error. */
static void add_bytes(struct block *k, uint64_t bytes, uint64_t margin)
{
	struct buffer *cell = grid_cell(&k->g);

	if (!bytes)
		return;
	number_add_bytes(cell, bytes);
	if (!margin)
		return;
	buffer_add_string(cell, k->opts->unicode ? "\xc2\xb1" : "+-");
	number_add_bytes(cell, margin);
}

static void add_blocks(struct block *k, uint64_t blocks)
{
	struct buffer *cell = grid_cell(&k->g);

	if (blocks)
		buffer_add_u64(cell, blocks);
}

static void add_memory(struct block *k, const struct lines_sum *sum)
{
	add_share(k, sum->self, k->summary->total);
	add_share(k, sum->total, k->summary->total);
	if (k->summary->info->unit == UNIT_BYTES)
		add_bytes(k, sum->self, sum->self_margin);
	else
		add_value(k, sum->self);
	add_bytes(k, sum->allocated.bytes, sum->allocated.margin);
	add_blocks(k, sum->allocated.blocks);
	add_bytes(k, sum->live.bytes, sum->live.margin);
	add_blocks(k, sum->live.blocks);
}

static void add_times(struct block *k, const struct lines_sum *sum)
{
	struct buffer *cell;

	add_share(k, sum->self, k->summary->total);
	add_share(k, sum->total, k->summary->total);
	add_value(k, sum->self);
	add_value(k, sum->total);
	cell = grid_cell(&k->g);
	if (sum->total_samples)
		buffer_add_u64(cell, sum->total_samples);
	for (int i = 0; i < NR_LINES_ENDS; i++)
		add_share(k, k->ends[i] ? sum->ends[i] : 0, sum->total);
}

static void add_row(struct block *k, uint32_t line, const struct lines_sum *sum)
{
	struct buffer *cell;

	if (line)
		grid_count(&k->g, line);
	else
		grid_text(&k->g, "?");
	if (sum && k->opts->kernprof)
		add_kernprof_times(k, sum);
	else if (sum && k->has_memory)
		add_memory(k, sum);
	else if (sum)
		add_times(k, sum);
	cell = grid_last_cell(&k->g);
	if (k->source)
		source_text_add_line(cell, k->source, line, true);
	if (sum && sum->self && !k->opts->kernprof)
		grid_style_row(&k->g, "\033[1m");
}

static void add_rows(struct block *k)
{
	const struct lines_function *f = k->function;
	uint32_t next = 0; /* the line after the last one that was shown */

	if (k->source && f->start_line && f->rows[0].line && f->start_line < f->rows[0].line) {
		add_row(k, f->start_line, NULL);
		next = f->start_line + 1;
	}
	for (uint32_t i = 0; i < f->nr_rows; i++) {
		uint32_t line = f->rows[i].line;

		if (next && line > next && (!k->source || line - next > GAP)) {
			grid_text(&k->g, "...");
			grid_last_cell(&k->g);
			next = 0;
		}
		for (uint32_t l = next; next && l < line; l++)
			add_row(k, l, NULL);
		add_row(k, line, &f->rows[i].sum);
		next = line ? line + 1 : 0;
	}
}

/* "allocated 12.4 MB ± 1.1 MB in 1240 blocks" */
static void add_memory_words(struct block *k, const char *what, const struct lines_memory *m)
{
	struct buffer *b = k->b;

	buffer_add_string(b, what);
	number_add_bytes(b, m->bytes);
	if (m->margin) {
		buffer_add_string(b, k->opts->unicode ? " \xc2\xb1 " : " +- ");
		number_add_bytes(b, m->margin);
	}
	buffer_printf(b, " in %llu block%s", (unsigned long long)m->blocks,
		      m->blocks == 1 ? "" : "s");
}

static void add_sums(struct block *k, const struct lines_sum *sum)
{
	if (!k->has_memory) {
		summary_add_sums(k->b, k->summary, sum->self, sum->total, sum->total_samples,
				 k->opts->unicode);
		return;
	}
	buffer_add_string(k->b, "self ");
	number_add_percent(k->b, sum->self, k->summary->total);
	buffer_add_string(k->b, ", total ");
	number_add_percent(k->b, sum->total, k->summary->total);
	add_memory_words(k, "; allocated ", &sum->allocated);
	add_memory_words(k, ", live ", &sum->live);
}

static void add_title(struct block *k)
{
	const struct lines_function *f = k->function;
	struct buffer *b = k->b;

	if (k->opts->kernprof) {
		buffer_printf(b, "Total time: %.6g s\nFile: ", (double)f->sum.total / 1e9);
		text_add_clean(b, f->file, strlen(f->file));
		buffer_add_string(b, "\nFunction: ");
		text_add_clean(b, f->name, strlen(f->name));
		buffer_printf(b, " at line %u\n\n", f->start_line);
		return;
	}
	buffer_add_string(b, k->opts->color ? "\033[1;34m" : "");
	text_add_clean(b, f->name, strlen(f->name));
	buffer_add_string(b, k->opts->color ? "\033[0m" : "");
	buffer_add_string(b, "\n  ");
	text_add_clean(b, f->file, strlen(f->file));
	if (f->start_line)
		buffer_printf(b, ":%u", f->start_line);
	buffer_add_string(b, "\n  ");
	add_sums(k, &f->sum);
	buffer_add_char(b, '\n');
}

/* Less important columns have keys: in a narrow terminal they give way to source text. */
static void add_table(struct block *k)
{
	static const struct grid_column kernprof[] = {
		{ NULL, "Line #", false }, { NULL, "Hits", false },
		{ NULL, "Time", false },   { NULL, "Per Hit", false },
		{ NULL, "% Time", false }, { NULL, "Line Contents", true },
	};
	static const struct grid_column times[] = {
		{ NULL, "Line", false },     { NULL, "Self%", false },
		{ NULL, "Total%", false },   { "self", "Self", false },
		{ "total", "Total", false }, { "samples", "Samples", false },
		{ "ends", "Python", false }, { "ends", "Native", false },
		{ "ends", "Kernel", false }, { "ends", "GPU", false },
		{ NULL, "Source", true },
	};
	/* Without "ends": a line asks for memory, whatever code then allocates it. */
	static const struct grid_column memory[] = {
		{ NULL, "Line", false },      { NULL, "Self%", false },
		{ NULL, "Total%", false },    { "self", "Self", false },
		{ NULL, "Allocated", false }, { "samples", "Blocks", false },
		{ "total", "Live", false },   { "samples", "Blocks", false },
		{ NULL, "Source", true },
	};
	static const char *const spare[] = { "samples", "self", "ends", "total", NULL };

	if (k->opts->kernprof)
		grid_init(&k->g, kernprof, sizeof(kernprof) / sizeof(*kernprof));
	else if (k->has_memory)
		grid_init(&k->g, memory, sizeof(memory) / sizeof(*memory));
	else
		grid_init(&k->g, times, sizeof(times) / sizeof(*times));
	k->g.spare = spare;
	k->g.max_width = k->opts->columns;
	k->g.unicode = k->opts->unicode;
	k->g.color = k->opts->color;
	add_rows(k);
	grid_write_text(k->b, &k->g, 0);
	grid_fini(&k->g);
}

static void add_function(struct block *k, const struct lines_function *f)
{
	struct source_text *source = source_text_open(f->file);

	k->function = f;
	k->source = source;
	buffer_add_char(k->b, '\n');
	add_title(k);
	if (source && k->opts->recorded_ns && source_text_changed_ns(source) > k->opts->recorded_ns)
		buffer_add_string(
			k->b,
			"  this file was changed after the recording: lines may have moved\n");
	add_table(k);
	source_text_free(source);
}

/*
 * Adds "ended in Python 24%, native 75%, kernel 0.54%"; nothing if all of it ended in one kind of
 * code.
 */
static void add_ends(struct block *k, const struct lines *l)
{
	static const char *const names[NR_LINES_ENDS] = { "Python", "native code", "the kernel",
							  "the GPU" };
	const char *separator = "ended in ";
	int nr = 0;

	for (int i = 0; i < NR_LINES_ENDS && !k->has_memory; i++)
		nr += l->ends[i] != 0;
	for (int i = 0; i < NR_LINES_ENDS && nr > 1; i++) {
		if (!l->ends[i])
			continue;
		buffer_printf(k->b, "%s%s ", separator, names[i]);
		number_add_percent(k->b, l->ends[i], l->total);
		separator = ", ";
	}
	if (nr > 1)
		buffer_add_char(k->b, '\n');
}

static void add_head(struct block *k, const struct lines *l)
{
	struct buffer *b = k->b;

	text_add_line(b, k->summary->command);
	if (*k->summary->command)
		buffer_add_char(b, '\n');
	summary_add_origin(b, k->summary);
	buffer_add_char(b, '\n');
	summary_add_trust(b, k->summary);
	buffer_add_char(b, '\n');
	if (k->summary->unfinished)
		buffer_printf(b, "UNFINISHED: %s\n", k->summary->note);
	add_ends(k, l);
	if (!l->without)
		return;
	number_add_percent(b, l->without, l->total);
	buffer_add_string(
		b, " of it in code whose source lines are not known (no debug information)\n");
}

size_t lines_table_write(struct buffer *b, const struct lines *lines, const struct summary *summary,
			 const struct lines_opts *opts)
{
	struct block k = {
		.b = b, .summary = summary, .opts = opts, .has_memory = lines->has_memory
	};
	size_t nr = 0;
	int nr_ends = 0;

	for (size_t i = 0; i < lines->nr_functions; i++)
		for (int e = 0; e < NR_LINES_ENDS; e++)
			k.ends[e] |= lines->functions[i].sum.ends[e] != 0;
	for (int e = 0; e < NR_LINES_ENDS; e++)
		nr_ends += k.ends[e];
	if (nr_ends < 2 || k.has_memory) /* else the column would say 100% in every row */
		memset(k.ends, 0, sizeof(k.ends));
	add_head(&k, lines);
	for (size_t i = 0; i < lines->nr_functions; i++) {
		const struct lines_function *f = &lines->functions[i];

		if (!lines_matches(f, opts->source ? opts->source : "", opts->function))
			continue;
		nr++;
		if (!opts->max_functions || nr <= opts->max_functions)
			add_function(&k, f);
	}
	if (opts->max_functions && nr > opts->max_functions) {
		buffer_add_char(b, '\n');
		number_add_more(b, nr - opts->max_functions, "function", "functions");
	}
	return nr;
}
