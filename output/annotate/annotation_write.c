/*
 * Writes an annotated function as text: its lines, then its instructions below the lines that they
 * came from. Lines and instructions far from any sample are left out, and their number is printed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/path.h"
#include "core/profile/column.h"
#include "output/annotate/instructions.h"
#include "output/report/grid.h"
#include "output/text/align.h"
#include "output/text/number.h"
#include "output/text/source_text.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum {
	/* lines or instructions without samples that are shown beside one with samples */
	GAP = 3,
	FILES_MAX = 256, /* source files kept open; a hostile recording can name any number */
	HOT = 10,	 /* one tenth of the function's self or more is shown in red */
};

struct file {
	const char *path;
	struct source_text *text; /* NULL: cannot be read */
};

struct writer {
	struct buffer *b;
	struct grid g; /* of the lines, or of a piece of code */
	const struct annotated *f;
	const struct summary *summary;
	const struct annotation_opts *opts;
	struct file *files;
	size_t nr_files, capacity;
	bool changed; /* a source file was written after the recording */
};

static const struct source_text *source_of(struct writer *w, const char *path)
{
	struct file *f;

	for (size_t i = 0; i < w->nr_files; i++)
		if (!strcmp(w->files[i].path, path))
			return w->files[i].text;
	if (!*path || w->nr_files == FILES_MAX)
		return NULL;
	w->files = xgrow(w->files, &w->capacity, w->nr_files + 1, sizeof(*w->files));
	f = &w->files[w->nr_files++];
	*f = (struct file){ path, source_text_open(path) };
	if (f->text && w->opts->recorded_ns &&
	    source_text_changed_ns(f->text) > w->opts->recorded_ns)
		w->changed = true;
	return f->text;
}

/* A cell without samples is blank: among zeros the other values would be hard to see. */
static void add_numbers(struct grid *g, const struct summary *s, const struct annotation_sum *sum)
{
	struct buffer *cell = grid_cell(g);

	if (sum->self)
		number_add_percent(cell, sum->self, s->total);
	grid_cell(g);
	if (sum->total)
		number_add_percent(cell, sum->total, s->total);
	grid_cell(g);
	if (sum->self)
		summary_add_value(cell, s, sum->self);
	grid_cell(g);
	if (sum->self_samples)
		buffer_add_u64(cell, sum->self_samples);
}

static void write_grid(struct writer *w, const char *first, const char *last,
		       void (*add_rows)(struct writer *w, const void *context), const void *context)
{
	/* In a narrow terminal the text is worth more than the column of times. */
	static const char *const spare[] = { "self", NULL };
	struct buffer heading = { 0 };

	text_add_clean(&heading, last, strlen(last));
	const struct grid_column columns[] = {
		{ NULL, first, false },
		{ NULL, "Self%", false },
		{ NULL, "Total%", false },
		{ "self", "Self", false },
		{ NULL, w->summary->info->events, false },
		{ NULL, buffer_cstring(&heading), true },
	};

	grid_init(&w->g, columns, sizeof(columns) / sizeof(*columns));
	w->g.spare = spare;
	w->g.max_width = w->opts->columns;
	w->g.unicode = w->opts->unicode;
	w->g.color = w->opts->color;
	add_rows(w, context);
	buffer_add_char(w->b, '\n');
	grid_write_text(w->b, &w->g, 0);
	grid_fini(&w->g);
	buffer_fini(&heading);
}

/* Lines and instructions with self time stand out. */
static const char *style_of(const struct writer *w, const struct annotation_sum *sum)
{
	if (!sum->self)
		return "";
	return sum->self >= w->f->lines->sum.self / HOT ? "\033[1;31m" : "\033[1m";
}

/* Appends a line of a source file; nothing if the file cannot be read. */
static void add_source(struct writer *w, struct buffer *text, const char *path, uint32_t line,
		       bool indented)
{
	const struct source_text *source = line ? source_of(w, path) : NULL;

	if (source)
		source_text_add_line(text, source, line, indented);
}

static void add_inlined_place(struct writer *w, struct buffer *text,
			      const struct annotation_line *l)
{
	const char *file = path_base_name(l->file);

	align_add_spaces(text, 2 * (size_t)l->level);
	buffer_add_string(text, w->opts->unicode ? "\xe2\x86\xb3 " : "> ");
	buffer_add_string(text, w->opts->all->names.list[l->function].name);
	if (*file) {
		buffer_add_char(text, ' ');
		text_add_clean(text, file, strlen(file));
	}
	if (l->line)
		buffer_printf(text, ":%u", l->line);
	buffer_add_string(text, "  ");
	add_source(w, text, l->file, l->line, false);
}

static void add_line(struct writer *w, const struct annotation_line *l)
{
	if (l->level)
		grid_cell(&w->g);
	else if (l->line)
		grid_count(&w->g, l->line);
	else
		grid_text(&w->g, "?");
	add_numbers(&w->g, w->summary, &l->sum);
	if (l->level)
		add_inlined_place(w, grid_cell(&w->g), l);
	else
		add_source(w, grid_cell(&w->g), l->file, l->line, true);
	grid_style_row(&w->g, style_of(w, &l->sum));
}

/* Adds the lines between two lines with samples: all of a short gap, else "...". */
static void add_lines_between(struct writer *w, const struct annotation_line *from, uint32_t to)
{
	struct annotation_line blank = *from;

	blank.sum = (struct annotation_sum){ 0 };
	if (to - from->line - 1 > GAP || !source_of(w, from->file)) {
		if (to > from->line + 1) {
			grid_text(&w->g, "...");
			grid_last_cell(&w->g);
		}
		return;
	}
	while (++blank.line < to)
		add_line(w, &blank);
}

static void add_lines(struct writer *w, const void *lines)
{
	const struct annotation *a = lines;
	const struct annotation_line *last = NULL; /* of level 0 */
	const char *file = NULL;

	for (size_t i = 0; i < a->nr_lines; i++) {
		const struct annotation_line *l = &a->lines[i];

		if (!l->level) {
			if (file && strcmp(file, l->file))
				text_add_clean(grid_last_cell(&w->g), l->file, strlen(l->file));
			else if (last && last->line && l->line > last->line)
				add_lines_between(w, last, l->line);
			file = l->file;
			last = l;
		}
		add_line(w, l);
	}
}

static const struct profile_location *location_of(const struct writer *w, uint32_t frame,
						  uint32_t at)
{
	const struct profile *p = w->opts->places;
	const struct profile_frame *f = &p->frames[frame];

	return at < f->nr_locations ? &p->locations[f->first_location + at] : NULL;
}

/* Counts the functions, outermost first, that are at the same line in both frames. */
static uint32_t common_levels(const struct writer *w, uint32_t frame, uint32_t other)
{
	uint32_t nr = 0;

	for (;; nr++) {
		const struct profile_location *l = location_of(w, frame, nr);
		const struct profile_location *m = location_of(w, other, nr);

		if (!l || !m || l->function != m->function || l->line != m->line)
			return nr;
	}
}

/*
 * Adds the lines that an instruction came from, from the first one that differs from the
 * instruction before.
 */
static void add_places(struct writer *w, uint32_t frame, uint32_t levels)
{
	const struct profile *p = w->opts->places;
	const struct profile_location *l;

	for (; (l = location_of(w, frame, levels)); levels++) {
		const struct profile_function *f = &p->functions[l->function];
		const char *path = profile_str(p, f->file), *name = profile_str(p, f->name);
		struct buffer *text = grid_last_cell(&w->g);

		align_add_spaces(text, 2 * (size_t)levels);
		if (levels) {
			buffer_add_string(text, w->opts->unicode ? "\xe2\x86\xb3 " : "> ");
			text_add_clean(text, name, strlen(name));
			buffer_add_char(text, ' ');
		}
		text_add_clean(text, path_base_name(path), strlen(path_base_name(path)));
		if (l->line)
			buffer_printf(text, ":%u", l->line);
		buffer_add_string(text, "  ");
		add_source(w, text, path, l->line, false);
		grid_style_row(&w->g, "\033[36m");
	}
}

static void add_instruction(struct writer *w, const struct annotation_code *c, size_t at)
{
	const struct instruction *i = &c->code.list[at];
	const char *s = c->code.text.data + i->text;
	const struct profile *p = w->opts->places;
	struct buffer *text;

	buffer_printf(grid_cell(&w->g), "%llx", (unsigned long long)(c->vaddr + i->offset));
	add_numbers(&w->g, w->summary, &c->sums[at]);
	text = grid_cell(&w->g);
	text_add_clean(text, s, strlen(s));
	if (c->targets[at] != PROFILE_NONE) {
		const struct profile_location *l = location_of(w, c->targets[at], 0);

		if (l) {
			const char *name = profile_str(p, p->functions[l->function].name);

			buffer_add_string(text, " <");
			text_add_clean(text, name, strlen(name));
			buffer_add_char(text, '>');
		}
	}
	grid_style_row(&w->g, style_of(w, &c->sums[at]));
}

/* Is an instruction with samples among those shown around this one? */
static bool is_near(const struct annotation_code *c, size_t at)
{
	size_t end = at + GAP < c->code.nr ? at + GAP + 1 : c->code.nr;

	for (size_t i = at > GAP ? at - GAP : 0; i < end; i++)
		if (c->shown[i] && !annotation_sum_is_empty(&c->sums[i]))
			return true;
	return false;
}

static void add_skipped(struct grid *g, size_t nr)
{
	if (!nr)
		return;
	grid_text(g, "...");
	buffer_printf(grid_last_cell(g), "%zu instruction%s", nr, nr > 1 ? "s" : "");
}

static void add_code(struct writer *w, const void *code)
{
	const struct annotation_code *c = code;
	uint32_t last = PROFILE_NONE;
	size_t skipped = 0;

	for (size_t i = 0; i < c->code.nr; i++) {
		if (!c->shown[i] || !is_near(c, i)) {
			skipped += c->shown[i];
			last = PROFILE_NONE;
			continue;
		}
		add_skipped(&w->g, skipped);
		skipped = 0;
		add_places(w, c->frames[i],
			   last == PROFILE_NONE ? 0 : common_levels(w, c->frames[i], last));
		add_instruction(w, c, i);
		last = c->frames[i];
	}
	add_skipped(&w->g, skipped);
}

static void add_title(struct writer *w)
{
	const struct annotation *a = w->f->lines;
	const struct tree_function *f = &w->opts->all->names.list[a->function];
	struct buffer *b = w->b;

	buffer_add_string(b, w->opts->color ? "\033[1;34m" : "");
	buffer_add_string(b, f->name);
	buffer_add_string(b, w->opts->color ? "\033[0m" : "");
	if (*f->module) {
		buffer_add_string(b, "  in ");
		text_add_clean(b, f->module, strlen(f->module));
	}
	if (*f->file) {
		buffer_add_string(b, "\n  ");
		text_add_clean(b, f->file, strlen(f->file));
		if (f->line)
			buffer_printf(b, ":%u", f->line);
	}
	buffer_add_string(b, "\n  ");
	summary_add_sums(b, w->summary, a->sum.self, a->sum.total, a->sum.total_samples,
			 w->opts->unicode);
	buffer_add_char(b, '\n');
}

static bool has_lines(const struct annotation *a)
{
	for (size_t i = 0; i < a->nr_lines; i++)
		if (a->lines[i].line)
			return true;
	return false;
}

void annotation_write(struct buffer *b, const struct annotated *f, const struct summary *summary,
		      const struct annotation_opts *opts)
{
	struct writer w = { .b = b, .f = f, .summary = summary, .opts = opts };

	add_title(&w);
	if (has_lines(f->lines))
		write_grid(&w, "Line", "Source", add_lines, f->lines);
	else
		buffer_add_string(b, "\nits source lines are not known (no debug information)\n");
	if (f->problem) {
		buffer_add_string(b, "\nits instructions are not shown: ");
		text_add_clean(b, f->problem, strlen(f->problem));
		buffer_add_char(b, '\n');
	}
	for (size_t i = 0; i < f->nr_codes; i++) {
		const char *path =
			profile_str(opts->profile, opts->profile->modules[f->codes[i].module].path);

		write_grid(&w, "Address", path_base_name(path), add_code, &f->codes[i]);
	}
	if (f->nr_more)
		buffer_printf(b, "\n%zu more place%s that it was inlined into (-n 0 shows all)\n",
			      f->nr_more, f->nr_more > 1 ? "s" : "");
	if (w.changed)
		buffer_add_string(b, "\na source file was changed after the recording: lines may "
				     "have moved\n");
	for (size_t i = 0; i < w.nr_files; i++)
		source_text_free(w.files[i].text);
	free(w.files);
}
