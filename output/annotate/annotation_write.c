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
#include "output/text/align.h"
#include "output/annotate/instructions.h"
#include "output/text/number.h"
#include "output/text/source_text.h"
#include "output/tree/summary.h"
#include "output/text/text.h"

enum {
	/* so many lines or instructions without samples are shown beside one with samples */
	GAP = 3,
	SHARE = 7, /* columns */
	VALUE = 10,
	COUNT = 9,
	ADDRESS = 9,
	TEXT_MIN = 24,
	FILES_MAX = 256, /* source files kept open; a hostile recording can name any number */
	HOT = 10,	 /* one tenth of the function's self or more is shown in red */
};

struct file {
	const char *path;
	struct source_text *text; /* NULL: cannot be read */
};

struct writer {
	struct buffer *b;
	const struct annotated *f;
	const struct summary *summary;
	const struct annotation_opts *opts;
	struct file *files;
	size_t nr_files, capacity;
	bool changed; /* a source file was written after the recording */
	size_t address_columns;
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

/* ---- cells */

static void add_right(struct buffer *b, struct buffer *cell, size_t width)
{
	size_t columns = text_columns(cell->data, cell->size);

	align_add_spaces(b, columns < width ? width - columns : 1);
	buffer_add(b, cell->data, cell->size);
	cell->size = 0;
}

/* The columns before the text. */
static size_t numbers(const struct writer *w)
{
	return w->address_columns + 2 * SHARE + COUNT + 2;
}

/* In a narrow terminal the text is worth more than the column of times. */
static bool has_value(const struct writer *w)
{
	return !w->opts->columns || w->opts->columns >= numbers(w) + VALUE + TEXT_MIN;
}

/* A cell without samples is blank: among zeros the other values would be hard to see. */
static void add_numbers(struct writer *w, const struct annotation_sum *sum)
{
	struct buffer cell = { 0 };

	if (sum && sum->self)
		number_add_percent(&cell, sum->self, w->summary->total);
	add_right(w->b, &cell, SHARE);
	if (sum && sum->total)
		number_add_percent(&cell, sum->total, w->summary->total);
	add_right(w->b, &cell, SHARE);
	if (has_value(w)) {
		if (sum && sum->self)
			summary_add_value(&cell, w->summary, sum->self);
		add_right(w->b, &cell, VALUE);
	}
	if (sum && sum->self_samples)
		buffer_add_u64(&cell, sum->self_samples);
	add_right(w->b, &cell, COUNT);
	buffer_add_string(w->b, "  ");
	buffer_fini(&cell);
}

static void add_heading(struct writer *w, const char *first, const char *last)
{
	static const struct {
		const char *text;
		int width;
	} headings[] = { { "Self%", SHARE }, { "Total%", SHARE }, { "Self", VALUE } };

	buffer_add_string(w->b, w->opts->color ? "\n\033[1m" : "\n");
	buffer_printf(w->b, "%*s", (int)w->address_columns, first);
	for (size_t i = 0; i < sizeof(headings) / sizeof(*headings); i++)
		if (headings[i].width != VALUE || has_value(w))
			buffer_printf(w->b, "%*s", headings[i].width, headings[i].text);
	buffer_printf(w->b, "%*s  %s", COUNT, w->summary->info->events, last);
	buffer_add_string(w->b, w->opts->color ? "\033[0m\n" : "\n");
}

/* Adds clean text, cut to the columns that the terminal has left. */
static void add_text(struct writer *w, const struct buffer *text)
{
	size_t used = numbers(w) + (has_value(w) ? VALUE : 0), left = SIZE_MAX;

	if (w->opts->columns)
		left = w->opts->columns > used + TEXT_MIN ? w->opts->columns - used : TEXT_MIN;
	buffer_add(w->b, text->data, text_head(text->data, text->size, left));
}

static void end_line(struct writer *w, size_t start, bool colored)
{
	struct buffer *b = w->b;

	while (b->size > start && b->data[b->size - 1] == ' ')
		b->size--;
	buffer_add_string(b, colored ? "\033[0m\n" : "\n");
}

/* Lines and instructions with self time stand out. */
static const char *color_of(const struct writer *w, const struct annotation_sum *sum)
{
	if (!w->opts->color || !sum || !sum->self)
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

/* ---- lines */

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
	const char *color = color_of(w, &l->sum);
	struct buffer text = { 0 };
	size_t start;

	buffer_add_string(w->b, color);
	start = w->b->size;
	if (l->level)
		align_add_spaces(w->b, w->address_columns);
	else if (l->line)
		buffer_printf(w->b, "%*u", (int)w->address_columns, l->line);
	else
		buffer_printf(w->b, "%*s", (int)w->address_columns, "?");
	add_numbers(w, annotation_sum_is_empty(&l->sum) ? NULL : &l->sum);
	if (l->level)
		add_inlined_place(w, &text, l);
	else
		add_source(w, &text, l->file, l->line, true);
	add_text(w, &text);
	end_line(w, start, *color);
	buffer_fini(&text);
}

/* Adds the lines between two lines with samples: all of a short gap, else "...". */
static void add_lines_between(struct writer *w, const struct annotation_line *from, uint32_t to)
{
	struct annotation_line blank = *from;

	blank.sum = (struct annotation_sum){ 0 };
	if (to - from->line - 1 > GAP || !source_of(w, from->file)) {
		if (to > from->line + 1)
			buffer_printf(w->b, "%*s\n", (int)w->address_columns, "...");
		return;
	}
	while (++blank.line < to)
		add_line(w, &blank);
}

static void add_lines(struct writer *w)
{
	const struct annotation *a = w->f->lines;
	const struct annotation_line *last = NULL; /* of level 0 */
	const char *file = NULL;

	for (size_t i = 0; i < a->nr_lines; i++) {
		const struct annotation_line *l = &a->lines[i];

		if (!l->level) {
			if (file && strcmp(file, l->file)) {
				buffer_add_string(w->b, "  ");
				text_add_clean(w->b, l->file, strlen(l->file));
				buffer_add_char(w->b, '\n');
			} else if (last && last->line && l->line > last->line) {
				add_lines_between(w, last, l->line);
			}
			file = l->file;
			last = l;
		}
		add_line(w, l);
	}
}

/* ---- instructions */

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
		struct buffer text = { 0 };
		size_t start;

		buffer_add_string(w->b, w->opts->color ? "\033[36m" : "");
		start = w->b->size;
		align_add_spaces(w->b, w->address_columns);
		add_numbers(w, NULL);
		align_add_spaces(&text, 2 * (size_t)levels);
		if (levels) {
			buffer_add_string(&text, w->opts->unicode ? "\xe2\x86\xb3 " : "> ");
			text_add_clean(&text, name, strlen(name));
			buffer_add_char(&text, ' ');
		}
		text_add_clean(&text, path_base_name(path), strlen(path_base_name(path)));
		if (l->line)
			buffer_printf(&text, ":%u", l->line);
		buffer_add_string(&text, "  ");
		add_source(w, &text, path, l->line, false);
		add_text(w, &text);
		end_line(w, start, w->opts->color);
		buffer_fini(&text);
	}
}

static void add_instruction(struct writer *w, const struct annotation_code *c, size_t at)
{
	const struct instruction *i = &c->code.list[at];
	const char *color = color_of(w, &c->sums[at]), *s = c->code.text.data + i->text;
	const struct profile *p = w->opts->places;
	struct buffer text = { 0 };
	size_t start;

	buffer_add_string(w->b, color);
	start = w->b->size;
	buffer_printf(w->b, "%*llx", (int)w->address_columns,
		      (unsigned long long)(c->vaddr + i->offset));
	add_numbers(w, &c->sums[at]);
	text_add_clean(&text, s, strlen(s));
	if (c->targets[at] != PROFILE_NONE) {
		const struct profile_location *l = location_of(w, c->targets[at], 0);

		if (l) {
			const char *name = profile_str(p, p->functions[l->function].name);

			buffer_add_string(&text, " <");
			text_add_clean(&text, name, strlen(name));
			buffer_add_char(&text, '>');
		}
	}
	add_text(w, &text);
	end_line(w, start, *color);
	buffer_fini(&text);
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

static void add_skipped(struct writer *w, size_t nr)
{
	if (nr)
		buffer_printf(w->b, "%*s %zu instruction%s\n", (int)w->address_columns, "...", nr,
			      nr > 1 ? "s" : "");
}

static void add_code(struct writer *w, const struct annotation_code *c)
{
	const char *path = profile_str(w->opts->profile, w->opts->profile->modules[c->module].path);
	uint32_t last = PROFILE_NONE;
	size_t skipped = 0;

	add_heading(w, "Address", path_base_name(path));
	for (size_t i = 0; i < c->code.nr; i++) {
		if (!c->shown[i] || !is_near(c, i)) {
			skipped += c->shown[i];
			last = PROFILE_NONE;
			continue;
		}
		add_skipped(w, skipped);
		skipped = 0;
		add_places(w, c->frames[i],
			   last == PROFILE_NONE ? 0 : common_levels(w, c->frames[i], last));
		add_instruction(w, c, i);
		last = c->frames[i];
	}
	add_skipped(w, skipped);
}

/* ---- the whole */

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

static void measure(struct writer *w)
{
	w->address_columns = ADDRESS;
	for (size_t i = 0; i < w->f->nr_codes; i++) {
		const struct annotation_code *c = &w->f->codes[i];
		size_t digits = 2;

		for (uint64_t v = c->vaddr + c->code.nr * 16; v; v >>= 4)
			digits++;
		if (digits > w->address_columns)
			w->address_columns = digits;
	}
}

void annotation_write(struct buffer *b, const struct annotated *f, const struct summary *summary,
		      const struct annotation_opts *opts)
{
	struct writer w = { .b = b, .f = f, .summary = summary, .opts = opts };

	measure(&w);
	add_title(&w);
	if (has_lines(f->lines)) {
		add_heading(&w, "Line", "Source");
		add_lines(&w);
	} else {
		buffer_add_string(b, "\nits source lines are not known (no debug information)\n");
	}
	if (f->problem) {
		buffer_add_string(b, "\nits instructions are not shown: ");
		text_add_clean(b, f->problem, strlen(f->problem));
		buffer_add_char(b, '\n');
	}
	for (size_t i = 0; i < f->nr_codes; i++)
		add_code(&w, &f->codes[i]);
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
