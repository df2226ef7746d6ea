/*
 * Reads the reports of Intel's VTune as CSV: `vtune -report top-down -format csv`, a call tree
 * whose rows are indented by a blank for each caller; `-report callstacks`, functions with the
 * stacks that lead to them; or `-report hotspots`, functions without callers. The columns come in
 * any order; the name, the module and the CPU time of the function itself are taken. Fields with a
 * delimiter in them are in double quotes.
 *
 * In callstacks a row names a function and its time, and the rows after it have their name in the
 * column "Function Stack": the callers, nearest first. The time of a stack stands in its first row
 * and is 0 in the others, so a row with a time begins the next stack of the same function.
 */
#include "output/import/importer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/import/text/call_tree.h"
#include "output/tree/tree.h"

enum { MAX_FIELDS = 256, MAX_FRAMES = 1 << 16 };

/* A function of callstacks, and the stack to it that is read. */
struct callstack {
	uint32_t *frames; /* leaf first; the function is the first */
	size_t nr, capacity;
	double seconds; /* of this stack */
	double left;	/* the function's time that is in none of its stacks so far */
};

struct reader {
	struct profile *p;
	const char *name;
	struct call_tree tree;
	char delimiter;
	bool is_tree;		 /* not a list of functions */
	int time, module, stack; /* columns; -1: there is none */
	struct callstack callstack;
	bool has_total_row; /* the root of the tree is "Total", which is no function */
	double ns;	    /* so far */
	uint64_t nr_good, nr_bad;
};

/* The name of the first column, and the delimiter after it; 0 if the line is not a header. */
static char header_delimiter(const char *s, size_t n, bool *ret_is_tree)
{
	static const char tree[] = "Function Stack", list[] = "Function";
	size_t m = sizeof(tree) - 1;

	*ret_is_tree = n > m && !memcmp(s, tree, m);
	if (!*ret_is_tree)
		m = sizeof(list) - 1;
	if (n <= m || memcmp(s, list, sizeof(list) - 1) || !strchr(",;\t|", s[m]) || !s[m])
		return '\0';
	return memmem(s, n, "CPU Time", 8) ? s[m] : '\0';
}

/* Takes the next field off a row and undoes its quotes, not the blanks before; NULL at the end. */
static char *take_field(char **row, char delimiter)
{
	char *start = *row, *from, *to;

	if (!start)
		return NULL;
	from = start + strspn(start, " ");
	if (*from != '"') {
		from = strchr(start, delimiter);
		if (from)
			*from = '\0';
		*row = from ? from + 1 : NULL;
		return start;
	}
	for (to = from++; *from && (*from != '"' || from[1] == '"'); from++) {
		*to++ = *from;
		from += *from == '"'; /* a quote within is written twice */
	}
	from = strchr(from, delimiter);
	*row = from ? from + 1 : NULL;
	*to = '\0';
	return start;
}

static void read_header(struct reader *r, char *line)
{
	char *field;

	r->time = r->module = r->stack = -1;
	for (int i = 0; i < MAX_FIELDS && (field = take_field(&line, r->delimiter)); i++) {
		if (!strcmp(field, "CPU Time:Self") || (!r->is_tree && !strcmp(field, "CPU Time")))
			r->time = i;
		else if (!strcmp(field, "Module"))
			r->module = i;
		else if (!strcmp(field, "Function Stack") && i)
			r->stack = i;
	}
}

static uint32_t frame_of(struct reader *r, const char *name, const char *module)
{
	struct import_function f = { .module = PROFILE_NONE };

	if (module && *module && strcmp(module, "[Unknown]"))
		f.module = import_module(r->p, module, "", &f.kind);
	if (!strcmp(name, "[Unknown stack frame(s)]") || !strcmp(name, "[Unknown]"))
		return import_unnamed_frame(r->p, f.module, 0);
	f.name = f.system_name = profile_cstring(r->p, name);
	return import_frame(r->p, &f, 1);
}

/* Rounds the running sum rather than each row, so that the total is right. */
static bool add_time(struct reader *r, double seconds, uint32_t stack)
{
	struct profile_sample s = { .thread = PROFILE_NONE, .column = COLUMN_CPU, .stack = stack };
	double before = r->ns, ns = seconds * 1e9;

	if (!(ns >= 0) || !(r->ns + ns < (double)TREE_MAX_TOTAL))
		return false;
	r->ns += ns;
	s.weight = (uint64_t)(llround(r->ns) - llround(before));
	if (s.weight)
		profile_add_sample(r->p, &s);
	return true;
}

/* Adds the stack that was read, and forgets its callers. */
static bool end_callstack(struct reader *r)
{
	struct callstack *c = &r->callstack;
	uint32_t *frames;
	bool ok = true;

	if (c->nr > 1 && c->seconds > 0) {
		frames = xreallocarray(NULL, c->nr, sizeof(*frames));
		memcpy(frames, c->frames, c->nr * sizeof(*frames));
		ok = add_time(r, c->seconds, import_stack(r->p, frames, c->nr));
		free(frames);
		c->left -= c->seconds;
	}
	c->nr = c->nr > 1 ? 1 : c->nr;
	c->seconds = 0;
	return ok;
}

/* What a function has beyond its stacks, by more than times are rounded, came without a caller. */
static bool end_function(struct reader *r)
{
	struct callstack *c = &r->callstack;
	bool ok = end_callstack(r);

	if (ok && c->nr && c->left > 0.0005)
		ok = add_time(r, c->left, import_stack(r->p, c->frames, 1));
	c->nr = 0;
	return ok;
}

static bool add_callstack_row(struct reader *r, uint32_t frame, double seconds, bool is_function)
{
	struct callstack *c = &r->callstack;
	bool ok = true;

	if (!(seconds >= 0))
		return false;
	if (is_function)
		ok = end_function(r);
	else if (!c->nr || c->nr == MAX_FRAMES)
		return false;
	else if (seconds > 0)
		ok = end_callstack(r);
	c->frames = xgrow(c->frames, &c->capacity, c->nr + 1, sizeof(*c->frames));
	c->frames[c->nr++] = frame;
	if (is_function)
		c->left = seconds;
	else
		c->seconds += seconds;
	return ok;
}

static bool read_row(struct reader *r, char *row)
{
	char *name = take_field(&row, r->delimiter), *field, *time = NULL, *module = NULL;
	char *caller = NULL;
	size_t depth = strspn(name, " ");
	double seconds;

	for (int i = 1; i < MAX_FIELDS && (field = take_field(&row, r->delimiter)); i++) {
		if (i == r->time)
			time = field;
		else if (i == r->module)
			module = field;
		else if (i == r->stack)
			caller = field + strspn(field, " ");
	}
	name += depth;
	if (!time || (!*name && (!caller || !*caller)))
		return false;
	seconds = strtod(time, NULL); /* "0.031" or "0.031s" */
	if (r->stack >= 0)
		return add_callstack_row(r, frame_of(r, *name ? name : caller, module), seconds,
					 *name);
	if (!r->is_tree)
		depth = 0;
	else if (!depth && !strcmp(name, "Total"))
		return r->has_total_row = true;
	else if (r->has_total_row && !depth--)
		return false;
	return call_tree_enter(&r->tree, depth, frame_of(r, name, module)) &&
	       add_time(r, seconds, call_tree_stack(&r->tree));
}

static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;

	if (r->delimiter) {
		if (*line)
			++*(read_row(r, line) ? &r->nr_good : &r->nr_bad);
		return true;
	}
	r->delimiter = header_delimiter(line, strlen(line), &r->is_tree);
	if (r->delimiter)
		read_header(r, line);
	return r->delimiter && r->time >= 0;
}

static int finish(struct reader *r)
{
	r->nr_bad += !end_function(r);
	if (r->time < 0) {
		log_error(0, "read '%s': it has no column \"CPU Time:Self\" (VTune)", r->name);
		return -EINVAL;
	}
	if (!r->p->nr_samples || r->nr_bad > r->nr_good) {
		log_error(0, "read '%s': no row in it has a CPU time (VTune)", r->name);
		return -EINVAL;
	}
	import_left_out(r->name, "rows left out because VTune does not write such", r->nr_bad);
	r->p->meta.weighted = true;
	import_describe(r->p, r->name, "VTune");
	return 0;
}

static int vtune_read(FILE *f, const char *name, const struct import_opts *opts,
		      struct profile **ret_profile)
{
	struct reader r = {
		.p = profile_new(), .name = name, .time = -1, .module = -1, .stack = -1
	};
	int err;

	(void)opts;
	r.tree.p = r.p;
	err = import_text(f, name, read_line, &r, &r.nr_bad);
	if (!err)
		err = finish(&r);
	call_tree_fini(&r.tree);
	free(r.callstack.frames);
	return import_end(r.p, err, ret_profile);
}

static bool vtune_is(const char *data, size_t size)
{
	const char *newline = memchr(data, '\n', size);
	bool is_tree;

	return newline && header_delimiter(data, (size_t)(newline - data), &is_tree);
}

const struct importer import_vtune = {
	.name = "VTune",
	.is = vtune_is,
	.read = vtune_read,
};
