/*
 * Reads a processed profile of the Firefox Profiler (profiler.firefox.com, samply, sprof): per
 * thread, samples refer to stacks, stacks to frames, frames to functions, and those to strings, a
 * table being one array per field. Newer versions share the tables between threads. Of Firefox's
 * own data it takes the samples: markers, counters and categories have no place in a profile.
 */
#include "output/import/importer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/profile/profile.h"
#include "output/import/browser/json_input.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

/*
 * MAX_STACK_FRAMES is the limit for all stacks of a file together, and each byte of the file adds
 * FRAMES_PER_BYTE: a stack takes few bytes there, however many frames it has.
 */
enum { MAX_DEPTH = 1 << 16, MAX_STACK_FRAMES = 1 << 28, FRAMES_PER_BYTE = 16 };

struct tables {
	struct json_numbers stack_frame, stack_prefix;
	struct json_numbers frame_func, frame_line;
	struct json_numbers func_name, func_resource, func_file, func_source, func_line;
	struct json_numbers resource_lib, source_file;
	uint32_t *strings;
	size_t nr_strings, strings_capacity;
};

struct thread {
	struct tables tables;
	struct json_numbers stacks, weights;
	uint32_t name, process; /* strings */
	uint32_t pid, tid;
	uint32_t weight_type; /* string: "samples", "tracing-ms", "bytes" */
};

/* What has been made of stacks and frames of the file, by their numbers there. */
struct made {
	struct number_map stacks, frames;
};

struct reader {
	struct json_input in;
	struct tables shared;
	struct made made; /* of the shared tables */
	uint32_t *libs;	  /* strings: paths */
	size_t nr_libs, libs_capacity;
	uint64_t nr_stack_frames; /* of all stacks made so far */
	struct import_modules modules;
	double interval_ms;
	double total;
};

/* The arrays of one table of the file, by key. */
struct array {
	const char *key;
	struct json_numbers *numbers;
};

static void read_table(struct json_input *in, const struct array *arrays, size_t nr)
{
	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		size_t i = 0;

		while (i < nr && !json_input_is(in, arrays[i].key))
			i++;
		if (i < nr)
			json_input_numbers(in, arrays[i].numbers);
		else
			json_skip(&in->json);
	}
}

static void read_strings(struct json_input *in, struct tables *t)
{
	if (!json_input_enter(in, '['))
		return;
	while (json_element(&in->json)) {
		uint32_t string = json_input_string(in);

		t->strings = xgrow(t->strings, &t->strings_capacity, t->nr_strings + 1,
				   sizeof(*t->strings));
		t->strings[t->nr_strings++] = string;
	}
}

/* Reads the value of a key that names a table; false if it does not. */
static bool read_any_table(struct json_input *in, struct tables *t)
{
	const struct array stacks[] = { { "frame", &t->stack_frame },
					{ "prefix", &t->stack_prefix } };
	const struct array frames[] = { { "func", &t->frame_func }, { "line", &t->frame_line } };
	const struct array functions[] = { { "name", &t->func_name },
					   { "resource", &t->func_resource },
					   { "fileName", &t->func_file },
					   { "source", &t->func_source },
					   { "lineNumber", &t->func_line } };
	const struct array resources[] = { { "lib", &t->resource_lib } };
	const struct array sources[] = { { "filename", &t->source_file } };

	if (json_input_is(in, "stackTable"))
		read_table(in, stacks, 2);
	else if (json_input_is(in, "frameTable"))
		read_table(in, frames, 2);
	else if (json_input_is(in, "funcTable"))
		read_table(in, functions, 5);
	else if (json_input_is(in, "resourceTable"))
		read_table(in, resources, 1);
	else if (json_input_is(in, "sources"))
		read_table(in, sources, 1);
	else if (json_input_is(in, "stringArray"))
		read_strings(in, t);
	else
		return false;
	return true;
}

static void tables_fini(struct tables *t)
{
	struct json_numbers *all[] = { &t->stack_frame,	 &t->stack_prefix, &t->frame_func,
				       &t->frame_line,	 &t->func_name,	   &t->func_resource,
				       &t->func_file,	 &t->func_source,  &t->func_line,
				       &t->resource_lib, &t->source_file };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		json_numbers_fini(all[i]);
	free(t->strings);
}

static uint32_t string_at(const struct tables *t, const struct json_numbers *n, size_t at)
{
	size_t i = json_numbers_index(n, at, t->nr_strings);

	return i == SIZE_MAX ? 0 : t->strings[i];
}

/* The module of a function, from its resource's library. */
static struct import_module module_of(struct reader *r, const struct tables *t, size_t func)
{
	const struct import_module none = { PROFILE_NONE, FUNCTION_NATIVE, "" };
	size_t resource = json_numbers_index(&t->func_resource, func, t->resource_lib.nr);
	size_t lib = resource == SIZE_MAX
			     ? SIZE_MAX
			     : json_numbers_index(&t->resource_lib, resource, r->nr_libs);

	return lib == SIZE_MAX ? none : import_modules_find(&r->modules, r->in.p, r->libs[lib], 0);
}

static uint32_t make_frame(struct reader *r, const struct tables *t, size_t frame)
{
	size_t func = json_numbers_index(&t->frame_func, frame, t->func_name.nr);
	struct import_module module;
	struct import_function f;
	size_t source;

	if (func == SIZE_MAX)
		return profile_marker_frame(r->in.p, MARKER_UNKNOWN);
	module = module_of(r, t, func);
	f = (struct import_function){ .module = module.id, .kind = module.kind };
	f.name = f.system_name = string_at(t, &t->func_name, func);
	f.file = string_at(t, &t->func_file, func);
	source = json_numbers_index(&t->func_source, func, t->source_file.nr);
	if (!f.file && source != SIZE_MAX)
		f.file = string_at(t, &t->source_file, source);
	f.start_line = func < t->func_line.nr ? json_u32(t->func_line.list[func]) : 0;
	f.line = frame < t->frame_line.nr ? json_u32(t->frame_line.list[frame]) : 0;
	if (import_is_unnamed(module.base, profile_str(r->in.p, f.name)))
		f.kind = FUNCTION_UNKNOWN;
	return import_frame(r->in.p, &f, 1);
}

static uint32_t frame_of(struct reader *r, const struct tables *t, size_t frame, struct made *made)
{
	uint32_t *known;
	bool is_new;

	if (frame == SIZE_MAX)
		return profile_marker_frame(r->in.p, MARKER_UNKNOWN);
	known = number_map_at(&made->frames, frame, &is_new);
	if (is_new)
		*known = make_frame(r, t, frame);
	return *known;
}

/*
 * In the table, a prefix comes before its stack: the Firefox Profiler relies on that, too. One that
 * does not is ignored, like one outside the table, so there are no circles.
 */
static uint32_t make_stack(struct reader *r, const struct tables *t, size_t stack,
			   struct made *made)
{
	uint32_t *frames = NULL, *known;
	size_t nr = 0, capacity = 0, at = stack;
	bool is_new;

	known = number_map_at(&made->stacks, stack, &is_new);
	if (!is_new)
		return *known;
	while (at != SIZE_MAX && nr < MAX_DEPTH) {
		size_t frame = json_numbers_index(&t->stack_frame, at, t->frame_func.nr);

		frames = xgrow(frames, &capacity, nr + 1, sizeof(*frames));
		frames[nr++] = frame_of(r, t, frame, made);
		at = json_numbers_index(&t->stack_prefix, at, at);
	}
	r->nr_stack_frames += nr;
	if (r->nr_stack_frames > MAX_STACK_FRAMES + FRAMES_PER_BYTE * (uint64_t)r->in.data.size)
		r->in.problem = "its stacks are too large";
	*known = import_stack(r->in.p, frames, nr);
	free(frames);
	return *known;
}

/* What a sample weighs, in units of its column. Without weights it lasts for an interval. */
static double weight_of(const struct reader *r, const struct thread *t, size_t i, uint8_t column)
{
	double weight = i < t->weights.nr ? t->weights.list[i] : NAN;

	if (!t->weights.nr)
		return r->interval_ms > 0 ? r->interval_ms * 1e6 : 1;
	return column == COLUMN_WALL ? weight * 1e6 : weight;
}

static uint8_t column_of(const struct reader *r, const struct thread *t)
{
	const char *type = profile_str(r->in.p, t->weight_type);

	if (!strcmp(type, "bytes"))
		return COLUMN_BYTES;
	if (t->weights.nr)
		return strcmp(type, "tracing-ms") ? COLUMN_COUNT : COLUMN_WALL;
	return r->interval_ms > 0 ? COLUMN_WALL : COLUMN_COUNT;
}

static void made_fini(struct made *made)
{
	number_map_fini(&made->stacks);
	number_map_fini(&made->frames);
}

static void add_samples(struct reader *r, struct thread *t)
{
	const struct tables *own = &t->tables, *shared = &r->shared;
	const struct tables *tables = own->stack_frame.nr ? own : shared;
	struct made own_made = { 0 }, *made = tables == own ? &own_made : &r->made;
	struct profile_sample s = { .column = column_of(r, t) };
	struct tables merged = *tables;
	double sum = 0;

	/* A thread may have stacks of its own, and strings or functions that all threads share. */
	if (!merged.frame_func.nr) {
		merged.frame_func = shared->frame_func;
		merged.frame_line = shared->frame_line;
	}
	if (!merged.func_name.nr) {
		merged.func_name = shared->func_name;
		merged.func_resource = shared->func_resource;
		merged.func_file = shared->func_file;
		merged.func_source = shared->func_source;
		merged.func_line = shared->func_line;
	}
	merged.resource_lib = merged.resource_lib.nr ? merged.resource_lib : shared->resource_lib;
	merged.source_file = merged.source_file.nr ? merged.source_file : shared->source_file;
	if (!merged.nr_strings) {
		merged.strings = shared->strings;
		merged.nr_strings = shared->nr_strings;
	}
	s.thread = profile_thread(r->in.p, t->pid, t->tid, t->name ? t->name : t->process);
	for (size_t i = 0; i < t->stacks.nr && !r->in.problem; i++) {
		size_t stack = json_numbers_index(&t->stacks, i, merged.stack_frame.nr);
		double weight = weight_of(r, t, i, s.column), before = sum;

		if (stack == SIZE_MAX || !(weight >= 0))
			continue; /* nothing ran, or memory was freed */
		sum += weight;
		r->total += weight;
		if (!(r->total < (double)TREE_MAX_TOTAL)) {
			r->in.problem = "its sum is too large";
			break;
		}
		s.weight = (uint64_t)(llround(sum) - llround(before));
		s.stack = make_stack(r, &merged, stack, made);
		profile_add_sample(r->in.p, &s);
	}
	r->in.p->meta.weighted |= s.column == COLUMN_WALL && t->weights.nr;
	made_fini(&own_made);
}

static void read_samples(struct json_input *in, struct thread *t)
{
	const struct array arrays[] = { { "stack", &t->stacks }, { "weight", &t->weights } };

	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		size_t i = 0;

		while (i < 2 && !json_input_is(in, arrays[i].key))
			i++;
		if (i < 2)
			json_input_numbers(in, arrays[i].numbers);
		else if (json_input_is(in, "weightType"))
			t->weight_type = json_input_string(in);
		else
			json_skip(&in->json);
	}
}

/* pid and tid are numbers or strings: "123", or "123.1" where a pid was used again. */
static uint32_t read_id(struct json_input *in)
{
	if (json_peek(&in->json) == '"')
		return (uint32_t)strtoul(profile_str(in->p, json_input_string(in)), NULL, 10);
	return json_input_u32(in);
}

static void read_thread(struct reader *r)
{
	struct json_input *in = &r->in;
	struct thread t = { 0 };

	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "samples"))
			read_samples(in, &t);
		else if (json_input_is(in, "name"))
			t.name = json_input_string(in);
		else if (json_input_is(in, "processName"))
			t.process = json_input_string(in);
		else if (json_input_is(in, "pid"))
			t.pid = read_id(in);
		else if (json_input_is(in, "tid"))
			t.tid = read_id(in);
		else if (!read_any_table(in, &t.tables))
			json_skip(&in->json);
	}
	if (!json_failed(&in->json))
		add_samples(r, &t);
	tables_fini(&t.tables);
	json_numbers_fini(&t.stacks);
	json_numbers_fini(&t.weights);
}

static void read_libs(struct reader *r)
{
	struct json_input *in = &r->in;

	if (!json_input_enter(in, '['))
		return;
	while (json_element(&in->json)) {
		uint32_t name = 0, path = 0;

		json_enter(&in->json, '{');
		while (json_input_key(in)) {
			if (json_input_is(in, "name"))
				name = json_input_string(in);
			else if (json_input_is(in, "path"))
				path = json_input_string(in);
			else
				json_skip(&in->json);
		}
		r->libs = xgrow(r->libs, &r->libs_capacity, r->nr_libs + 1, sizeof(*r->libs));
		r->libs[r->nr_libs++] = path ? path : name;
	}
}

static void read_meta(struct reader *r)
{
	struct json_input *in = &r->in;

	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "interval"))
			r->interval_ms = json_input_number(in, 0);
		else if (json_input_is(in, "product"))
			in->p->meta.command = json_input_string(in);
		else
			json_skip(&in->json);
	}
}

static void read_threads(struct reader *r)
{
	if (!json_input_enter(&r->in, '['))
		return;
	while (json_element(&r->in.json) && !r->in.problem)
		read_thread(r);
}

static void read_shared(struct reader *r)
{
	if (!json_input_enter(&r->in, '{'))
		return;
	while (json_input_key(&r->in))
		if (!read_any_table(&r->in, &r->shared))
			json_skip(&r->in.json);
}

/* Pass 1 reads what threads refer to, pass 2 the threads. */
static void read_file(struct reader *r, bool threads)
{
	struct json_input *in = &r->in;

	json_input_rewind(in);
	json_enter(&in->json, '{');
	while (!in->problem && json_input_key(in)) {
		if (threads && json_input_is(in, "threads"))
			read_threads(r);
		else if (!threads && json_input_is(in, "libs"))
			read_libs(r);
		else if (!threads && json_input_is(in, "meta"))
			read_meta(r);
		else if (!threads && json_input_is(in, "shared"))
			read_shared(r);
		else
			json_skip(&in->json);
	}
}

static int firefox_read(FILE *f, const char *name, const struct import_opts *opts,
			struct profile **ret_profile)
{
	struct reader r = { 0 };
	int err = json_input_init(&r.in, f, name);

	(void)opts;
	if (err)
		return err;
	read_file(&r, false);
	if (!json_failed(&r.in.json))
		read_file(&r, true);
	err = json_input_finish(&r.in, "Firefox Profiler", ret_profile);
	tables_fini(&r.shared);
	made_fini(&r.made);
	import_modules_fini(&r.modules);
	free(r.libs);
	return err;
}

static bool firefox_is(const char *data, size_t size)
{
	return json_input_begins(data, size, '{') &&
	       memmem(data, size, "\"preprocessedProfileVersion\"", 28);
}

const struct importer import_firefox = {
	.name = "Firefox Profiler",
	.is = firefox_is,
	.read = firefox_read,
};
