/*
 * Reads callgrind's format (https://valgrind.org/docs/manual/cl-format.html): the self cost of each
 * function, and the cost of each function's calls to each other one. It holds no stacks, so
 * callgrind_graph.h makes some up from the calls. Of several events the first is read, or the one
 * that the user names.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/profile/event_name.h"
#include "core/profile/profile.h"
#include "output/import/callgrind_graph.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"

enum { MAX_EVENTS = 64 };

/* Names are numbered: "(3) main" defines number 3, and "(3)" stands for it. */
enum space { OBJECTS, FILES, FUNCTIONS, NR_SPACES };

struct reader {
	struct profile *p;
	const char *name;
	const struct import_opts *opts;
	struct number_map names[NR_SPACES]; /* number -> string */
	struct import_modules modules;
	struct callgrind_graph graph;
	uint32_t object, file, function;	     /* of the costs that are read */
	uint32_t callee_object, callee_file, callee; /* strings */
	bool callee_has_object, callee_has_file,
		callee_next;		       /* the next line is the cost of a call */
	uint32_t callee_frame;		       /* of the call whose cost is on the next line */
	size_t nr_positions, event, nr_events; /* numbers before the costs; the cost to read */
	uint32_t event_names[MAX_EVENTS];
	uint64_t nr_bad, nr_lines;
};

static uint32_t take_name(struct reader *r, enum space space, const char *s)
{
	uint64_t number = 0;
	uint32_t *string;
	bool is_new;

	if (*s != '(' || !isdigit((unsigned char)s[1]))
		return profile_cstring(r->p, s);
	for (s++; isdigit((unsigned char)*s); s++)
		number = number * 10 + (uint64_t)(*s - '0');
	if (*s != ')')
		return profile_cstring(r->p, s);
	s++;
	string = number_map_at(&r->names[space], number + 1, &is_new);
	if (is_new)
		*string = 0;
	if (*s == ' ' && s[1])
		*string = profile_cstring(r->p, s + 1);
	return *string;
}

static uint32_t frame_of(struct reader *r, uint32_t object, uint32_t file, uint32_t function)
{
	const bool known = strcmp(profile_str(r->p, object), "???");
	const struct import_module module =
		import_modules_find(&r->modules, r->p, known ? object : 0, 0);
	const struct import_function f = {
		.name = function,
		.system_name = function,
		.file = strcmp(profile_str(r->p, file), "???") ? file : 0,
		.module = module.id,
		.kind = module.kind,
	};

	return import_frame(r->p, &f, 1);
}

static uint32_t caller(struct reader *r)
{
	return frame_of(r, r->object, r->file, r->function);
}

static void take_callee(struct reader *r)
{
	uint32_t object = r->callee_has_object ? r->callee_object : r->object;
	uint32_t file = r->callee_has_file ? r->callee_file : r->file;

	r->callee_frame = frame_of(r, object, file, r->callee);
	r->callee_has_object = r->callee_has_file = false;
	r->callee_next = true;
}

/* "fn=(1) main" and its like; false if the line is of another form. */
static bool read_name(struct reader *r, const char *line)
{
	const char *value = strchr(line, '=');
	size_t n = value ? (size_t)(value - line) : 0;

	if (!value)
		return false;
	value++;
	if (n == 2 && !memcmp(line, "ob", 2)) {
		r->object = take_name(r, OBJECTS, value);
	} else if (n == 2 && !memcmp(line, "fl", 2)) {
		r->file = take_name(r, FILES, value);
	} else if (n == 2 && (!memcmp(line, "fi", 2) || !memcmp(line, "fe", 2))) {
		take_name(r, FILES, value); /* inlined code counts as its function's */
	} else if (n == 2 && !memcmp(line, "fn", 2)) {
		r->function = take_name(r, FUNCTIONS, value);
	} else if (n == 3 && !memcmp(line, "cob", 3)) {
		r->callee_object = take_name(r, OBJECTS, value);
		r->callee_has_object = true;
	} else if (n == 3 && (!memcmp(line, "cfi", 3) || !memcmp(line, "cfl", 3))) {
		r->callee_file = take_name(r, FILES, value);
		r->callee_has_file = true;
	} else if (n == 3 && !memcmp(line, "cfn", 3)) {
		r->callee = take_name(r, FUNCTIONS, value);
	} else if (n == 5 && !memcmp(line, "calls", 5)) {
		take_callee(r);
	} else {
		return n >= 4 && (!memcmp(line, "jump", 4) || !memcmp(line, "jcnd", 4));
	}
	return true;
}

static void read_events(struct reader *r, const char *names)
{
	r->nr_events = r->event = 0;
	while (*(names += strspn(names, " \t")) && r->nr_events < MAX_EVENTS) {
		size_t n = strcspn(names, " \t");

		r->event_names[r->nr_events] = profile_string(r->p, names, n);
		if (r->opts->event &&
		    event_name_is(profile_str(r->p, r->event_names[r->nr_events]), r->opts->event))
			r->event = r->nr_events;
		r->nr_events++;
		names += n;
	}
}

/* "key: value"; false if the line is of another form. */
static bool read_header(struct reader *r, const char *line)
{
	const char *colon = strchr(line, ':');
	size_t n = colon ? (size_t)(colon - line) : 0;

	if (!colon || !isalpha((unsigned char)*line) ||
	    strspn(line, "abcdefghijklmnopqrstuvwxyz") != n)
		return false;
	if (n == 6 && !memcmp(line, "events", 6))
		read_events(r, colon + 1);
	else if (n == 9 && !memcmp(line, "positions", 9))
		r->nr_positions = strstr(colon, "instr") && strstr(colon, "line") ? 2 : 1;
	else if (n == 3 && !memcmp(line, "cmd", 3))
		r->p->meta.command = profile_cstring(r->p, colon + 1 + strspn(colon + 1, " "));
	return true;
}

/* "+3 12 4": positions, absolute or relative, then the costs. */
static bool read_cost(struct reader *r, const char *line)
{
	uint64_t cost = 0;

	if (!isdigit((unsigned char)*line) && !strchr("+-*", *line))
		return false;
	for (size_t i = 0; i < r->nr_positions + r->event; i++) {
		line += strcspn(line, " \t");
		line += strspn(line, " \t");
	}
	if (isdigit((unsigned char)*line))
		cost = strtoull(line, NULL, 10);
	if (r->callee_next)
		callgrind_graph_add_call(&r->graph, caller(r), r->callee_frame, cost);
	else
		callgrind_graph_add_self(&r->graph, caller(r), cost);
	r->callee_next = false;
	return true;
}

static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	r->nr_lines++;
	if (!read_cost(r, line) && !read_name(r, line) && !read_header(r, line))
		r->nr_bad++;
	return true;
}

static int finish(struct reader *r)
{
	struct profile *p = r->p;
	int err;

	if (!r->nr_events || r->nr_bad > r->nr_lines / 2) {
		log_error(0, "read '%s': it is a damaged file of callgrind", r->name);
		return -EINVAL;
	}
	p->meta.event = r->event_names[r->event];
	err = callgrind_graph_add_stacks(&r->graph, p);
	if (err) {
		log_error(0, "read '%s': %s", r->name,
			  err == -ERANGE ? "its sum is too large" : "it holds no costs");
		return -EINVAL;
	}
	import_left_out(r->name, "lines left out because callgrind does not write such", r->nr_bad);
	log_warning("'%s': it holds calls, not stacks: stacks are estimated from them, as if each "
		    "call of a function cost the same whoever called it",
		    r->name);
	import_describe(p, r->name, "callgrind");
	return 0;
}

static int callgrind_read(FILE *f, const char *name, const struct import_opts *opts,
			  struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name, .opts = opts, .nr_positions = 1 };
	int err = import_text(f, name, read_line, &r, &r.nr_bad);

	if (!err)
		err = finish(&r);
	callgrind_graph_fini(&r.graph);
	import_modules_fini(&r.modules);
	for (int i = 0; i < NR_SPACES; i++)
		number_map_fini(&r.names[i]);
	return import_end(r.p, err, ret_profile);
}

/* The first lines are "# callgrind format", or headers of which one is "events:". */
static bool callgrind_is(const char *data, size_t size)
{
	const char *events;

	if (memchr(data, '\0', size))
		return false;
	if (size > 18 && !memcmp(data, "# callgrind format", 18))
		return true;
	events = memmem(data, size, "\nevents: ", 9);
	return events && memmem(events, size - (size_t)(events - data), "\nfn=", 4);
}

const struct importer import_callgrind = {
	.name = "callgrind",
	.is = callgrind_is,
	.read = callgrind_read,
};
