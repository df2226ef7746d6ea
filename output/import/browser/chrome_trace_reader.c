/*
 * Reads Chrome's trace events (the "Trace Event Format"), an array or the object around it. If the
 * trace holds CPU profiles of V8, those are read. Else the durations of each thread are: X, or B
 * and E, nest like calls, and what an event does not spend in others is its self time. Counters,
 * instants, flows and asynchronous events have no place in a stack.
 */
#include "output/import/importer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "output/import/browser/v8_profile.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

enum { MAX_DEPTH = 4096, MAX_PROFILES = 1024 };

struct thread_id {
	uint32_t pid, tid;
};

struct event {
	struct thread_id thread;
	uint32_t name;
	double start_us, duration_us; /* duration NAN: not closed yet */
	uint32_t around; /* while it is open: 1 + index of the event around it; 0: none */
};

/* A V8 profile of the trace, by the id that its chunks carry. */
struct trace_profile {
	uint32_t id;
	struct thread_id thread;
	struct v8_profile v;
};

struct thread_name {
	struct thread_id thread;
	uint32_t name;
	size_t order; /* place in the file: the first name of a thread counts */
};

struct reader {
	struct json_input in;
	struct event *events;
	size_t nr_events, events_capacity;
	struct number_map open; /* by thread: 1 + index of its innermost open event */
	struct thread_name *names;
	size_t nr_names, names_capacity;
	struct trace_profile *profiles;
	size_t nr_profiles, profiles_capacity;
	uint64_t nr_left_out;
};

/* One trace event, as far as it is of interest. */
struct fields {
	uint32_t name, id, thread_name; /* strings */
	char phase;
	double ts, dur;
	struct thread_id thread;
	size_t args; /* offset of their value in the file; 0 = none */
};

static int compare_threads(struct thread_id x, struct thread_id y)
{
	return ORDER(x.pid, y.pid) ?: ORDER(x.tid, y.tid);
}

static void read_args(struct reader *r, struct fields *e)
{
	struct json_input *in = &r->in;

	e->args = (size_t)(in->json.at - in->data.data);
	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "name"))
			e->thread_name = json_input_string(in);
		else
			json_skip(&in->json);
	}
}

static struct trace_profile *find_profile(struct reader *r, const struct fields *e)
{
	for (size_t i = 0; i < r->nr_profiles; i++)
		if (r->profiles[i].id == e->id && r->profiles[i].thread.pid == e->thread.pid)
			return &r->profiles[i];
	if (r->nr_profiles == MAX_PROFILES)
		return NULL;
	r->profiles =
		xgrow(r->profiles, &r->profiles_capacity, r->nr_profiles + 1, sizeof(*r->profiles));
	r->profiles[r->nr_profiles] = (struct trace_profile){ .id = e->id, .thread = e->thread };
	return &r->profiles[r->nr_profiles++];
}

/* args.data of a chunk: cpuProfile, and the times beside it. */
static void read_chunk_data(struct json_input *in, struct v8_profile *v)
{
	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "cpuProfile"))
			v8_profile_read(in, v);
		else
			v8_profile_read_time(in, v);
	}
}

static void read_chunk(struct reader *r, struct trace_profile *profile, size_t args)
{
	struct json_input *in = &r->in;
	struct json outer = in->json;

	json_init(&in->json, in->data.data + args, in->data.size - args);
	json_enter(&in->json, '{');
	while (json_input_key(in)) {
		if (json_input_is(in, "data"))
			read_chunk_data(in, &profile->v);
		else
			json_skip(&in->json);
	}
	if (!json_failed(&in->json))
		in->json = outer;
}

static bool is_name(const struct reader *r, const struct fields *e, const char *name)
{
	return !strcmp(profile_str(r->in.p, e->name), name);
}

/* The innermost open event of a thread, + 1; 0: there is none. */
static uint32_t *open_of(struct reader *r, struct thread_id thread)
{
	bool is_new;

	return number_map_at(&r->open, (uint64_t)thread.pid << 32 | thread.tid, &is_new);
}

static void begin_event(struct reader *r, const struct fields *e)
{
	bool is_whole = e->phase == 'X';
	uint32_t *open;

	if (r->nr_events == UINT32_MAX) {
		r->nr_left_out++;
		return;
	}
	r->events = xgrow(r->events, &r->events_capacity, r->nr_events + 1, sizeof(*r->events));
	r->events[r->nr_events++] =
		(struct event){ e->thread, e->name, e->ts, is_whole ? e->dur : NAN, 0 };
	if (is_whole)
		return;
	open = open_of(r, e->thread);
	r->events[r->nr_events - 1].around = *open;
	*open = (uint32_t)r->nr_events;
}

/* E ends the innermost open event of its thread. */
static void end_event(struct reader *r, const struct fields *e)
{
	uint32_t *open = open_of(r, e->thread);
	struct event *begun = *open ? &r->events[*open - 1] : NULL;

	if (!begun) {
		r->nr_left_out++;
		return;
	}
	begun->duration_us = e->ts - begun->start_us;
	*open = begun->around;
}

static void take_event(struct reader *r, const struct fields *e)
{
	struct trace_profile *profile;

	if (is_name(r, e, "Profile") || is_name(r, e, "ProfileChunk")) {
		profile = e->args ? find_profile(r, e) : NULL;
		if (profile)
			read_chunk(r, profile, e->args);
		return;
	}
	switch (e->phase) {
	case 'X':
	case 'B': begin_event(r, e); break;
	case 'E': end_event(r, e); break;
	case 'M':
		if (!is_name(r, e, "thread_name"))
			break;
		r->names = xgrow(r->names, &r->names_capacity, r->nr_names + 1, sizeof(*r->names));
		r->names[r->nr_names] =
			(struct thread_name){ e->thread, e->thread_name, r->nr_names };
		r->nr_names++;
		break;
	default: r->nr_left_out++;
	}
}

static void read_event(struct reader *r)
{
	struct json_input *in = &r->in;
	struct fields e = { 0 };

	if (!json_input_enter(in, '{'))
		return;
	while (json_input_key(in)) {
		if (json_input_is(in, "name"))
			e.name = json_input_string(in);
		else if (json_input_is(in, "ph"))
			e.phase = profile_str(in->p, json_input_string(in))[0];
		else if (json_input_is(in, "ts"))
			e.ts = json_input_number(in, 0);
		else if (json_input_is(in, "dur"))
			e.dur = json_input_number(in, 0);
		else if (json_input_is(in, "pid"))
			e.thread.pid = json_input_u32(in);
		else if (json_input_is(in, "tid"))
			e.thread.tid = json_input_u32(in);
		else if (json_input_is(in, "id"))
			e.id = json_input_string(in);
		else if (json_input_is(in, "args"))
			read_args(r, &e);
		else
			json_skip(&in->json);
	}
	if (!json_failed(&in->json))
		take_event(r, &e);
}

static void read_events(struct reader *r)
{
	json_enter(&r->in.json, '[');
	while (json_element(&r->in.json))
		read_event(r);
}

static void read_file(struct reader *r)
{
	struct json_input *in = &r->in;

	if (json_peek(&in->json) == '[') {
		read_events(r);
		return;
	}
	json_enter(&in->json, '{');
	while (json_input_key(in)) {
		if (json_input_is(in, "traceEvents"))
			read_events(r);
		else
			json_skip(&in->json);
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct thread_name *x = a, *y = b;

	return compare_threads(x->thread, y->thread) ?: ORDER(x->order, y->order);
}

/* Sorts the names, and keeps one of each thread. */
static void sort_names(struct reader *r)
{
	size_t nr = 0;

	if (r->nr_names)
		qsort(r->names, r->nr_names, sizeof(*r->names), compare_names);
	for (size_t i = 0; i < r->nr_names; i++) {
		const struct thread_name *last = nr ? &r->names[nr - 1] : NULL;

		if (last && !compare_threads(last->thread, r->names[i].thread))
			continue;
		r->names[nr] = r->names[i];
		r->names[nr++].order = 0;
	}
	r->nr_names = nr;
}

static uint32_t thread_of(struct reader *r, struct thread_id thread)
{
	const struct thread_name key = { .thread = thread }, *found = NULL;

	if (r->nr_names)
		found = bsearch(&key, r->names, r->nr_names, sizeof(key), compare_names);
	return profile_thread(r->in.p, thread.pid, thread.tid,
			      found ? found->name : profile_cstring(r->in.p, "thread"));
}

/* By thread, then by time; of events that begin together the longest comes first. */
static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int order = compare_threads(x->thread, y->thread);

	if (order)
		return order;
	return ORDER(x->start_us, y->start_us) ?: ORDER(y->duration_us, x->duration_us);
}

/* The events that last at the time reached, outermost first. */
struct path {
	uint32_t frames[MAX_DEPTH];
	double ends[MAX_DEPTH], self[MAX_DEPTH];
	size_t depth;
	uint32_t thread;
	double total_ns;
};

static void close_last(struct reader *r, struct path *path)
{
	double self_ns = path->self[--path->depth] * 1e3;
	struct profile_sample s = { .thread = path->thread, .column = COLUMN_TIME };

	path->total_ns += self_ns > 0 ? self_ns : 0;
	if (!(path->total_ns < (double)TREE_MAX_TOTAL)) {
		r->in.problem = "its sum is too large";
		return;
	}
	s.weight = self_ns > 0 ? (uint64_t)llround(self_ns) : 0;
	s.stack = profile_stack(r->in.p, path->frames, path->depth + 1);
	if (s.weight)
		profile_add_sample(r->in.p, &s);
}

static void open_event(struct reader *r, struct path *path, const struct event *e)
{
	struct import_function f = { .name = e->name,
				     .system_name = e->name,
				     .module = PROFILE_NONE };
	double end = e->start_us + e->duration_us;

	if (path->depth == MAX_DEPTH)
		return;
	/* An event that outlasts the one around it is cut off there. */
	if (path->depth && end > path->ends[path->depth - 1])
		end = path->ends[path->depth - 1];
	if (path->depth)
		path->self[path->depth - 1] -= end - e->start_us;
	path->frames[path->depth] = import_frame(r->in.p, &f, 1);
	path->ends[path->depth] = end;
	path->self[path->depth++] = end - e->start_us;
}

static void add_durations(struct reader *r)
{
	struct path *path = xcalloc(1, sizeof(*path));

	qsort(r->events, r->nr_events, sizeof(*r->events), compare_events);
	for (size_t i = 0; i < r->nr_events && !r->in.problem; i++) {
		const struct event *e = &r->events[i];
		bool other = i && compare_threads(e[-1].thread, e->thread);

		while (path->depth && (other || path->ends[path->depth - 1] <= e->start_us))
			close_last(r, path);
		if (!i || other)
			path->thread = thread_of(r, e->thread);
		if (isfinite(e->start_us) && e->duration_us >= 0)
			open_event(r, path, e);
		else
			r->nr_left_out++;
	}
	while (path->depth && !r->in.problem)
		close_last(r, path);
	free(path);
	r->in.p->meta.weighted = true;
}

static void make_profile(struct reader *r)
{
	if (json_failed(&r->in.json))
		return;
	sort_names(r);
	for (size_t i = 0; i < r->nr_profiles && !r->in.problem; i++) {
		struct trace_profile *t = &r->profiles[i];

		t->v.thread = thread_of(r, t->thread);
		v8_profile_add_samples(&r->in, &t->v);
	}
	if (r->nr_profiles && r->in.p->nr_samples)
		r->nr_left_out += r->nr_events;
	else if (r->nr_events && !r->in.problem)
		add_durations(r);
	if (r->nr_left_out && !r->in.problem)
		log_warning("'%s': trace events left out because they have no place in a stack: "
			    "%llu",
			    r->in.name, (unsigned long long)r->nr_left_out);
}

static int chrome_trace_read(FILE *f, const char *name, const struct import_opts *opts,
			     struct profile **ret_profile)
{
	struct reader r = { 0 };
	int err = json_input_init(&r.in, f, name);

	(void)opts;
	if (err)
		return err;
	read_file(&r);
	make_profile(&r);
	err = json_input_finish(&r.in, "Chrome trace events", ret_profile);
	for (size_t i = 0; i < r.nr_profiles; i++)
		v8_profile_fini(&r.profiles[i].v);
	free(r.profiles);
	free(r.events);
	number_map_fini(&r.open);
	free(r.names);
	return err;
}

static bool chrome_trace_is(const char *data, size_t size)
{
	if (json_input_begins(data, size, '{'))
		return memmem(data, size, "\"traceEvents\"", 13);
	return json_input_begins(data, size, '[') && memmem(data, size, "\"ph\"", 4);
}

const struct importer import_chrome_trace = {
	.name = "Chrome trace",
	.is = chrome_trace_is,
	.read = chrome_trace_read,
};
