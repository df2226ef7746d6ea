/* Writes threads: a heading, then a line per function, inlined ones too. */
#include "output/dump_write.h"

#include <string.h>

#include "core/buffer.h"
#include "output/text.h"

/* A function in a stack, however it is known. */
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
		ret->module = profile_str(p, m->path);
	if (strrchr(ret->module, '/'))
		ret->module = strrchr(ret->module, '/') + 1;
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

static void add_text(void *context, const struct shown *f)
{
	struct text_writer *w = context;
	struct buffer line = { 0 }, clean = { 0 };
	const char *file = strrchr(f->file, '/');
	size_t n;

	if (w->opts->python_only && f->kind != FUNCTION_PYTHON)
		return;
	w->nr++;
	/* Python's name has its file and first line in brackets: here the line it is at is better. */
	n = f->kind == FUNCTION_PYTHON && strstr(f->name, " (")
		    ? (size_t)(strstr(f->name, " (") - f->name)
		    : strlen(f->name);
	buffer_add(&line, f->name, n);
	if (*f->file && f->line)
		buffer_printf(&line, " (%s:%u)", file && !w->opts->python_only ? file + 1 : f->file,
			      f->line);
	else if (*f->module)
		buffer_printf(&line, " (%s)", f->module);
	if (f->inlined)
		buffer_add_string(&line, " inlined");
	text_add_clean(&clean, line.data, line.size);
	n = w->opts->columns > 8 ? text_head(clean.data, clean.size, w->opts->columns - 4)
				 : clean.size;
	buffer_add_string(w->b, "    ");
	if (w->opts->color && f->kind == FUNCTION_PYTHON)
		buffer_add_string(w->b, "\033[1;33m");
	else if (w->opts->color && f->kind != FUNCTION_NATIVE)
		buffer_add_string(w->b, "\033[2m");
	buffer_add(w->b, clean.data, n);
	buffer_add_string(w->b, w->opts->color ? "\033[0m\n" : "\n");
	buffer_fini(&line);
	buffer_fini(&clean);
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
	static const char *const kinds[NR_FUNCTION_KINDS] = {
		[FUNCTION_NATIVE] = "native",	[FUNCTION_KERNEL] = "kernel",
		[FUNCTION_JIT] = "jit",		[FUNCTION_MARKER] = "marker",
		[FUNCTION_THREAD] = "thread",	[FUNCTION_PYTHON] = "python",
		[FUNCTION_GPU] = "gpu",		[FUNCTION_RANGE] = "range",
		[FUNCTION_UNKNOWN] = "unknown",
	};
	struct text_writer *w = context;

	buffer_add_string(w->b, w->nr++ ? ",\n   {\"function\": " : "\n   {\"function\": ");
	text_add_json(w->b, f->name);
	buffer_printf(w->b, ", \"kind\": \"%s\", \"inlined\": %s",
		      f->kind < NR_FUNCTION_KINDS ? kinds[f->kind] : "unknown",
		      f->inlined ? "true" : "false");
	if (*f->file) {
		buffer_add_string(w->b, ", \"file\": ");
		text_add_json(w->b, f->file);
		buffer_printf(w->b, ", \"line\": %u", f->line);
	}
	if (*f->module) {
		buffer_add_string(w->b, ", \"module\": ");
		text_add_json(w->b, f->module);
	}
	buffer_add_char(w->b, '}');
}

void dump_write_json(struct buffer *b, const struct dump_row *row)
{
	struct text_writer w = { .b = b };

	buffer_printf(b, " {\"tid\": %d, \"name\": ", (int)row->tid);
	text_add_json(b, row->name);
	buffer_add_string(b, ", \"state\": ");
	text_add_json(b, row->doing);
	buffer_printf(b, ", \"stopped_ns\": %llu, \"frames\": [",
		      (unsigned long long)row->stopped_ns);
	if (row->has_stack)
		for_each(row->profile, row->stack, &w, add_json);
	buffer_add_string(b, "]}");
}

void dump_write_task_json(struct buffer *b, const struct dump_task_row *row)
{
	struct text_writer w = { .b = b };

	buffer_add_string(b, " {\"name\": ");
	text_add_json(b, row->name);
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
