/*
 * Writes the threads of a dump: a heading for each, then a line per function, inlined ones too. In
 * text, names and paths share the width of the terminal.
 */
#include "output/report/dump_write.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/base/path.h"
#include "output/text/text.h"
#include "output/tree/label.h"
#include "output/tree/ranking.h"

enum { INDENT = 4, LEAST = 8 }; /* columns: of the indentation, and at least of name and path */

/* A function on a stack, named by debug information or only by a symbol. */
struct shown {
	const char *name, *file, *module;
	uint32_t line;
	uint8_t kind;
	bool inlined;
	char fallback[256];
};

static void show_frame(const struct profile *p, uint32_t frame, uint32_t location,
		       struct shown *ret)
{
	const struct profile_frame *f = &p->frames[frame];
	const struct profile_module *m = &p->modules[f->module];

	*ret = (struct shown){ .file = "", .module = "", .kind = FUNCTION_UNKNOWN };
	if (m->kind == MODULE_ELF || m->kind == MODULE_VDSO)
		ret->module = path_base_name(profile_str(p, m->path));
	if (f->nr_locations) {
		const struct profile_location *l = &p->locations[f->first_location + location];
		const struct profile_function *g = &p->functions[l->function];

		ret->name = profile_str(p, g->name);
		ret->file = profile_str(p, g->file);
		ret->line = l->line;
		ret->kind = g->kind;
		ret->inlined = l->inlined;
	} else {
		ret->name =
			profile_frame_fallback_name(p, frame, ret->fallback, sizeof(ret->fallback));
		if (m->kind == MODULE_MARKER)
			ret->kind = FUNCTION_MARKER;
	}
}

/* Calls `add` for each function of a stack, innermost first. */
static void for_each(const struct profile *p, uint32_t stack, void *context,
		     void (*add)(void *context, const struct shown *f))
{
	const struct profile_stack *s = &p->stacks[stack];

	for (uint32_t i = s->nr_frames; i-- > 0;) {
		uint32_t frame = p->stack_frames[s->first_frame + i];
		uint32_t nr = p->frames[frame].nr_locations;
		struct shown f;

		for (uint32_t k = nr ? nr : 1; k-- > 0;) {
			show_frame(p, frame, k, &f);
			add(context, &f);
		}
	}
}

struct text_writer {
	struct buffer *b;
	const struct dump_write_opts *opts;
	unsigned int nr;
};

/* The parts of a line, as clean text. */
struct line {
	struct buffer name, path; /* of a file or a module; may be empty */
	struct buffer end;	  /* after the path */
	uint8_t kind;
};

static void line_init(struct line *l, const struct shown *f, bool whole_path)
{
	const char *path = *f->file && f->line ? f->file : f->module;
	size_t n = strlen(f->name);

	/*
	 * A Python name ends with its file and first line in brackets; the dump shows the current
	 * line instead.
	 */
	if (f->kind == FUNCTION_PYTHON && strstr(f->name, " ("))
		n = (size_t)(strstr(f->name, " (") - f->name);
	if (!whole_path)
		path = path_base_name(path);
	*l = (struct line){ .kind = f->kind };
	text_add_clean(&l->name, f->name, n);
	text_add_clean(&l->path, path, strlen(path));
	if (*f->file && f->line)
		buffer_printf(&l->end, ":%u", f->line);
	buffer_add_string(&l->end, *path ? ")" : "");
	buffer_add_string(&l->end, f->inlined ? " inlined" : "");
}

static void line_fini(struct line *l)
{
	buffer_fini(&l->name);
	buffer_fini(&l->path);
	buffer_fini(&l->end);
}

/* Keeps the end of a path, which tells more than its beginning. */
static void add_path(struct buffer *b, const struct buffer *path, size_t room, bool unicode)
{
	size_t fits = path->size;

	if (text_columns(path->data, path->size) > room) {
		fits = text_tail(path->data, path->size, room - 1);
		buffer_add_string(b, unicode ? "\xe2\x80\xa6" : "~");
	}
	buffer_add(b, path->data + path->size - fits, fits);
}

/*
 * The line number is always shown. If not everything fits, the name gets the columns that the path
 * leaves, and at least half of them.
 */
static void add_line(struct buffer *b, const struct line *l, size_t room, bool unicode)
{
	size_t name = text_columns(l->name.data, l->name.size);
	size_t path = text_columns(l->path.data, l->path.size);
	size_t fixed = (l->path.size ? 2 : 0) + l->end.size;

	if (room && name + path + fixed > room) {
		room = room > fixed + LEAST ? room - fixed : LEAST;
		if (path > room / 2)
			path = name < room - room / 2 ? room - name : room / 2;
		name = room - path;
	}
	label_add_cut(b, l->name.data, l->name.size, l->kind, name, unicode);
	if (l->path.size) {
		buffer_add_string(b, " (");
		add_path(b, &l->path, path, unicode);
	}
	buffer_add(b, l->end.data, l->end.size);
}

static void add_text(void *context, const struct shown *f)
{
	struct text_writer *w = context;
	const struct dump_write_opts *o = w->opts;
	struct line line;

	if (o->python_only && f->kind != FUNCTION_PYTHON)
		return;
	w->nr++;
	line_init(&line, f, o->python_only);
	buffer_add_string(w->b, "    ");
	if (o->color && f->kind == FUNCTION_PYTHON)
		buffer_add_string(w->b, "\033[1;33m");
	else if (o->color && f->kind != FUNCTION_NATIVE)
		buffer_add_string(w->b, "\033[2m");
	add_line(w->b, &line, o->columns > INDENT ? o->columns - INDENT : o->columns, o->unicode);
	buffer_add_string(w->b, o->color ? "\033[0m\n" : "\n");
	line_fini(&line);
}

void dump_write_row(struct buffer *b, const struct dump_row *row,
		    const struct dump_write_opts *opts)
{
	struct text_writer w = { .b = b, .opts = opts };
	size_t before = b->size;

	buffer_printf(b, "%sthread %d ", opts->color ? "\033[1m" : "", (int)row->tid);
	text_add_clean(b, row->name, strlen(row->name));
	buffer_add_string(b, opts->color ? "\033[0m, " : ", ");
	text_add_clean(b, row->doing, strlen(row->doing));
	buffer_add_char(b, '\n');
	if (row->has_stack)
		for_each(row->profile, row->stack, &w, add_text);
	if (opts->python_only && !w.nr && row->has_stack)
		b->size = before;
	else
		buffer_add_char(b, '\n');
}

void dump_write_task(struct buffer *b, const struct dump_task_row *row,
		     const struct dump_write_opts *opts)
{
	struct text_writer w = { .b = b, .opts = opts };

	buffer_printf(b, "%stask ", opts->color ? "\033[1m" : "");
	text_add_clean(b, row->name, strlen(row->name));
	buffer_printf(b, "%s, %s, of thread %d", opts->color ? "\033[0m" : "", row->state,
		      (int)row->tid);
	for (size_t i = 0; i < row->nr_awaited_by; i++) {
		buffer_add_string(b, i ? ", " : ", awaited by ");
		text_add_clean(b, row->awaited_by[i], strlen(row->awaited_by[i]));
	}
	buffer_add_char(b, '\n');
	if (row->has_stack)
		for_each(row->profile, row->stack, &w, add_text);
	buffer_add_char(b, '\n');
}

static void add_json(void *context, const struct shown *f)
{
	struct text_writer *w = context;

	text_add_json_field(w->b,
			    w->nr++ ? ",\n   {\"function\": " : "\n   {\"function\": ", f->name);
	buffer_printf(w->b, ", \"kind\": \"%s\", \"inlined\": %s", ranking_kind_name(f->kind),
		      f->inlined ? "true" : "false");
	if (*f->file) {
		text_add_json_field(w->b, ", \"file\": ", f->file);
		buffer_printf(w->b, ", \"line\": %u", f->line);
	}
	if (*f->module)
		text_add_json_field(w->b, ", \"module\": ", f->module);
	buffer_add_char(w->b, '}');
}

void dump_write_json(struct buffer *b, const struct dump_row *row)
{
	struct text_writer w = { .b = b };

	buffer_printf(b, " {\"tid\": %d, \"name\": ", (int)row->tid);
	text_add_json(b, row->name);
	text_add_json_field(b, ", \"state\": ", row->doing);
	text_add_json_field(b, ", \"waits_for\": ", row->waits_for);
	buffer_printf(b, ", \"stopped_ns\": %llu, \"frames\": [",
		      (unsigned long long)row->stopped_ns);
	if (row->has_stack)
		for_each(row->profile, row->stack, &w, add_json);
	buffer_add_string(b, "]}");
}

void dump_write_task_json(struct buffer *b, const struct dump_task_row *row)
{
	struct text_writer w = { .b = b };

	text_add_json_field(b, " {\"name\": ", row->name);
	buffer_printf(b, ", \"tid\": %d, \"state\": \"%s\", \"awaited_by\": [", (int)row->tid,
		      row->state);
	for (size_t i = 0; i < row->nr_awaited_by; i++) {
		buffer_add_string(b, i ? ", " : "");
		text_add_json(b, row->awaited_by[i]);
	}
	buffer_add_string(b, "], \"frames\": [");
	if (row->has_stack)
		for_each(row->profile, row->stack, &w, add_json);
	buffer_add_string(b, "]}");
}
