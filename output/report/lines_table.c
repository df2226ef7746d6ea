/*
 * Writes the report by line as text: a block per function with its title, its lines and their
 * source text. It can also print the columns of line_profiler (kernprof).
 */
#include "output/report/lines_table.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "output/text/align.h"
#include "output/text/number.h"
#include "output/text/source_text.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum {
	GAP = 3 /* a gap of up to so many lines without samples is shown */,
	NUMBER = 9,
	SHARE = 7,
	VALUE = 11,
	SAMPLES = 10,
	SOURCE_MIN = 24
};

struct block {
	struct buffer *b;
	const struct summary *summary;
	const struct lines_opts *opts;
	bool ends[NR_LINES_ENDS];  /* which of these columns are shown, */
	bool self, total, samples; /* and which of these */
	const struct lines_function *function;
	const struct source_text *source; /* or NULL */
};

static const char *const end_names[NR_LINES_ENDS] = { "Python", "Native", "Kernel", "GPU" };

static void add_share(struct block *k, uint64_t part, uint64_t whole)
{
	size_t start = k->b->size;

	if (part)
		number_add_percent(k->b, part, whole);
	align_right(k->b, start, SHARE);
}

static void add_value(struct block *k, uint64_t value)
{
	size_t start = k->b->size;

	if (value)
		summary_add_value(k->b, k->summary, value);
	align_right(k->b, start, VALUE);
}

static void add_text(struct block *k, const char *s)
{
	size_t start = k->b->size;

	buffer_add_string(k->b, s);
	align_right(k->b, start, NUMBER + 1);
}

/* Adds the source text of a line, cut to the columns that the terminal has left. */
static void add_source(struct block *k, uint32_t line, size_t line_start)
{
	struct buffer text = { 0 };
	size_t used, left = SIZE_MAX, n;

	if (!k->source)
		return;
	source_text_add_line(&text, k->source, line, true);
	used = text_columns(k->b->data + line_start, k->b->size - line_start) + 2;
	if (k->opts->columns)
		left = k->opts->columns > used ? k->opts->columns - used : 0;
	n = text_head(text.data, text.size, left);
	if (n) {
		buffer_add_string(k->b, "  ");
		buffer_add(k->b, text.data, n);
	}
	buffer_fini(&text);
}

static void end_line(struct block *k, size_t line_start)
{
	while (k->b->size > line_start && k->b->data[k->b->size - 1] == ' ')
		k->b->size--;
	buffer_add_char(k->b, '\n');
}

static void add_heading(struct block *k)
{
	size_t start = k->b->size;

	if (k->opts->color)
		buffer_add_string(k->b, "\033[1m");
	if (k->opts->kernprof) {
		buffer_add_string(k->b, "  Line #    Hits         Time    Per Hit  % Time");
	} else {
		buffer_printf(k->b, "   Line  Self%%  Total%%%s%s%s", k->self ? "       Self" : "",
			      k->total ? "      Total" : "", k->samples ? "   Samples" : "");
		for (int i = 0; i < NR_LINES_ENDS; i++)
			if (k->ends[i])
				buffer_printf(k->b, " %6s", end_names[i]);
	}
	if (k->source)
		buffer_add_string(k->b, k->opts->kernprof ? "  Line Contents" : "  Source");
	if (k->opts->color)
		buffer_add_string(k->b, "\033[0m");
	end_line(k, start);
}

/*
 * Adds a row as line_profiler prints it. line_profiler counts how often a line ran; sampling does
 * not, so there is a dash instead of an invented number. Times are totals of the line, in us.
 */
static void add_kernprof_row(struct block *k, uint32_t line, const struct lines_sum *sum)
{
	size_t start = k->b->size;

	buffer_printf(k->b, "%8u", line);
	if (sum) {
		size_t at;

		add_text(k, "-");
		at = k->b->size;
		buffer_printf(k->b, "%.1f", (double)sum->total / 1000);
		align_right(k->b, at, 13);
		add_text(k, "-");
		at = k->b->size;
		buffer_printf(k->b, "%.1f",
			      k->function->sum.total
				      ? 100 * (double)sum->total / (double)k->function->sum.total
				      : 0);
		align_right(k->b, at, 8);
	} else {
		buffer_printf(k->b, "%*s", 10 + 13 + 10 + 8, "");
	}
	add_source(k, line, start);
	end_line(k, start);
}

static void add_row(struct block *k, uint32_t line, const struct lines_sum *sum)
{
	static const struct lines_sum none;
	bool bright = k->opts->color && sum && sum->self;
	size_t start;

	if (k->opts->kernprof) {
		add_kernprof_row(k, line, sum);
		return;
	}
	if (bright)
		buffer_add_string(k->b, "\033[1m");
	start = k->b->size;
	if (line)
		buffer_printf(k->b, "%7u", line);
	else
		buffer_printf(k->b, "%7s", "?");
	if (!sum)
		sum = &none;
	add_share(k, sum->self, k->summary->total);
	add_share(k, sum->total, k->summary->total);
	if (k->self)
		add_value(k, sum->self);
	if (k->total)
		add_value(k, sum->total);
	if (k->samples && sum->total_samples)
		buffer_printf(k->b, "%10llu", (unsigned long long)sum->total_samples);
	else if (k->samples)
		buffer_printf(k->b, "%10s", "");
	for (int i = 0; i < NR_LINES_ENDS; i++)
		if (k->ends[i])
			add_share(k, sum->ends[i], sum->total);
	add_source(k, line, start);
	end_line(k, start);
	if (bright) {
		k->b->size--;
		buffer_add_string(k->b, "\033[0m\n");
	}
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

		if (next && line > next && (!k->source || line - next > GAP))
			buffer_add_string(k->b, "    ...\n");
		else
			for (uint32_t l = next; next && l < line; l++)
				add_row(k, l, NULL);
		add_row(k, line, &f->rows[i].sum);
		next = line ? line + 1 : 0;
	}
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
	summary_add_sums(b, k->summary, f->sum.self, f->sum.total, f->sum.total_samples,
			 k->opts->unicode);
	buffer_add_char(b, '\n');
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
	add_heading(k);
	add_rows(k);
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

	for (int i = 0; i < NR_LINES_ENDS; i++)
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

/* In a narrow terminal, source text is worth more than columns that nearly repeat others. */
static void spare_columns(struct block *k, int nr_ends)
{
	size_t ends = (size_t)nr_ends * SHARE, columns = k->opts->columns;
	size_t need = NUMBER - 2 + 2 * SHARE + 2 * VALUE + SAMPLES + ends + 2 + SOURCE_MIN;

	k->self = k->total = k->samples = true;
	if (!columns)
		return;
	if (need > columns) {
		k->samples = false;
		need -= SAMPLES;
	}
	if (need > columns) {
		k->self = false;
		need -= VALUE;
	}
	if (need > columns) {
		memset(k->ends, 0, sizeof(k->ends));
		need -= ends;
	}
	k->total = need <= columns;
}

size_t lines_table_write(struct buffer *b, const struct lines *lines, const struct summary *summary,
			 const struct lines_opts *opts)
{
	struct block k = { .b = b, .summary = summary, .opts = opts };
	size_t nr = 0;
	int nr_ends = 0;

	for (size_t i = 0; i < lines->nr_functions; i++)
		for (int e = 0; e < NR_LINES_ENDS; e++)
			k.ends[e] |= lines->functions[i].sum.ends[e] != 0;
	for (int e = 0; e < NR_LINES_ENDS; e++)
		nr_ends += k.ends[e];
	if (nr_ends < 2) { /* the column would say 100% in every row */
		memset(k.ends, 0, sizeof(k.ends));
		nr_ends = 0;
	}
	spare_columns(&k, nr_ends);
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
