/*
 * Reads speedscope's JSON (https://www.speedscope.app/file-format-schema.json). The keys of an
 * object come in any order, so the file is read twice: first the frames, then the profiles that
 * refer to them. The objects "sprof" in sprof's own exports restore what speedscope has no field
 * for.
 */
#include "output/import/importer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "core/profile/profile.h"
#include "output/import/browser/json_input.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

enum { MAX_DEPTH = 1 << 16, MAX_STACK_FRAMES = 1 << 28 };

/* One profile of the file: a thread or a run of a program. */
struct track {
	bool has_thread;
	bool is_ours;  /* sprof wrote it */
	uint32_t name; /* string */
	double scale;  /* ns per unit of its values; 1 if they are not times */
	uint8_t column;
	uint32_t pid, tid;
	/* The frames of all stacks, where in them each stack ends, and the weight of each. */
	uint32_t *stacks;
	size_t *ends;
	double *weights;
	size_t nr_stacks, stacks_capacity, nr_samples, ends_capacity, nr_weights, weights_capacity;
};

struct reader {
	struct json_input in;
	uint32_t *frames; /* by number in the file */
	size_t nr_frames, frames_capacity;
	size_t nr_profiles, nr_listed; /* read so far; in the file */
	double total;		       /* of all weights, in units of the columns */
};

static bool speedscope_is(const char *data, size_t size)
{
	if (!json_input_begins(data, size, '{'))
		return false;
	return memmem(data, size, "speedscope", 10) || memmem(data, size, "\"shared\"", 8) ||
	       memmem(data, size, "\"profiles\"", 10);
}

static void read_frame_extras(struct reader *r, struct import_function *f)
{
	uint8_t ignored;

	json_enter(&r->in.json, '{');
	while (json_input_key(&r->in)) {
		if (json_input_is(&r->in, "kind")) {
			uint8_t kind = import_kind(profile_str(r->in.p, json_input_string(&r->in)));

			f->kind = kind < NR_FUNCTION_KINDS ? kind : f->kind;
		} else if (json_input_is(&r->in, "module")) {
			f->module = import_module(r->in.p,
						  profile_str(r->in.p, json_input_string(&r->in)),
						  "", &ignored);
		} else if (json_input_is(&r->in, "inlined") && json_peek(&r->in.json) != 'n') {
			json_bool(&r->in.json, &f->inlined);
		} else {
			json_skip(&r->in.json);
		}
	}
}

/* A marker of sprof's own exports becomes a marker again. */
static uint32_t make_frame(struct profile *p, const struct import_function *f)
{
	const char *name = profile_str(p, f->name);
	int marker = f->kind == FUNCTION_MARKER ? marker_from_name(name, strlen(name)) : -1;

	if (marker >= 0)
		return profile_marker_frame(p, (enum marker)marker);
	return import_frame(p, f, 1);
}

static void read_frame(struct reader *r)
{
	struct import_function f = { .module = PROFILE_NONE };

	json_enter(&r->in.json, '{');
	while (json_input_key(&r->in)) {
		if (json_input_is(&r->in, "name"))
			f.name = json_input_string(&r->in);
		else if (json_input_is(&r->in, "file"))
			f.file = json_input_string(&r->in);
		else if (json_input_is(&r->in, "line"))
			f.start_line = json_input_u32(&r->in);
		else if (json_input_is(&r->in, "sprof"))
			read_frame_extras(r, &f);
		else
			json_skip(&r->in.json);
	}
	f.system_name = f.name;
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = make_frame(r->in.p, &f);
}

static void read_shared(struct reader *r)
{
	json_enter(&r->in.json, '{');
	while (json_input_key(&r->in)) {
		if (!json_input_is(&r->in, "frames")) {
			json_skip(&r->in.json);
			continue;
		}
		json_enter(&r->in.json, '[');
		while (json_element(&r->in.json))
			read_frame(r);
	}
}

static void add_frame(struct reader *r, struct track *t, double number)
{
	if (!(number >= 0 && number < (double)r->nr_frames)) {
		r->in.problem = "a stack refers to a frame that does not exist";
		r->in.json.failed = true;
		return;
	}
	if (t->nr_stacks == MAX_STACK_FRAMES) {
		r->in.problem = "its stacks are too large";
		r->in.json.failed = true;
		return;
	}
	t->stacks = xgrow(t->stacks, &t->stacks_capacity, t->nr_stacks + 1, sizeof(*t->stacks));
	t->stacks[t->nr_stacks++] = r->frames[(size_t)number];
}

static void end_stack(struct track *t)
{
	t->ends = xgrow(t->ends, &t->ends_capacity, t->nr_samples + 1, sizeof(*t->ends));
	t->ends[t->nr_samples++] = t->nr_stacks;
}

static void add_weight(struct track *t, double weight)
{
	t->weights =
		xgrow(t->weights, &t->weights_capacity, t->nr_weights + 1, sizeof(*t->weights));
	t->weights[t->nr_weights++] = weight;
}

static void read_samples(struct reader *r, struct track *t)
{
	json_enter(&r->in.json, '[');
	while (json_element(&r->in.json)) {
		size_t nr = 0;

		json_enter(&r->in.json, '[');
		while (json_element(&r->in.json)) {
			double number;

			if (json_number(&r->in.json, &number) && nr++ < MAX_DEPTH)
				add_frame(r, t, number);
		}
		end_stack(t);
	}
}

static void read_weights(struct reader *r, struct track *t)
{
	json_enter(&r->in.json, '[');
	while (json_element(&r->in.json)) {
		double number;

		if (json_number(&r->in.json, &number))
			add_weight(t, number);
	}
}

/* The frames open between two events become a sample that weighs the time between them. */
struct events {
	uint32_t open[MAX_DEPTH]; /* frame numbers */
	size_t nr_open;
	double at; /* time of the last event */
};

static void add_event(struct reader *r, struct track *t, struct events *e, char type, double frame,
		      double at)
{
	if (at > e->at && e->nr_open) {
		for (size_t i = 0; i < e->nr_open; i++)
			add_frame(r, t, e->open[i]);
		end_stack(t);
		add_weight(t, at - e->at);
	}
	e->at = at > e->at ? at : e->at;
	if (type == 'O' && e->nr_open < MAX_DEPTH)
		e->open[e->nr_open++] =
			frame >= 0 && frame < UINT32_MAX ? (uint32_t)frame : UINT32_MAX;
	else if (type == 'C' && e->nr_open && e->open[e->nr_open - 1] == frame)
		e->nr_open--;
	else
		r->in.problem = "its events are not properly nested";
	r->in.json.failed |= r->in.problem != NULL;
}

static void read_events(struct reader *r, struct track *t)
{
	struct events *e = xcalloc(1, sizeof(*e));

	e->at = -INFINITY;
	json_enter(&r->in.json, '[');
	while (json_element(&r->in.json)) {
		double frame = -1, at = 0;
		char type = 0;

		json_enter(&r->in.json, '{');
		while (json_input_key(&r->in)) {
			if (json_input_is(&r->in, "frame"))
				json_number(&r->in.json, &frame);
			else if (json_input_is(&r->in, "at"))
				json_number(&r->in.json, &at);
			else if (json_input_is(&r->in, "type"))
				type = profile_str(r->in.p, json_input_string(&r->in))[0];
			else
				json_skip(&r->in.json);
		}
		if (!json_failed(&r->in.json))
			add_event(r, t, e, type, frame, at);
	}
	free(e);
}

static void read_unit(struct reader *r, struct track *t)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "nanoseconds", 1 },
		      { "microseconds", 1e3 },
		      { "milliseconds", 1e6 },
		      { "seconds", 1e9 } };
	const char *unit = profile_str(r->in.p, json_input_string(&r->in));

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!strcmp(unit, units[i].name)) {
			t->scale = units[i].ns;
			t->column = t->column == NR_COLUMNS ? COLUMN_CPU : t->column;
		}
	}
}

static void read_track_extras(struct reader *r, struct track *t)
{
	t->is_ours = true;
	json_enter(&r->in.json, '{');
	while (json_input_key(&r->in)) {
		if (json_input_is(&r->in, "column")) {
			t->column = (uint8_t)column_find(
				profile_str(r->in.p, json_input_string(&r->in)));
		} else if (json_input_is(&r->in, "pid")) {
			t->pid = json_input_u32(&r->in);
			t->has_thread = true;
		} else if (json_input_is(&r->in, "tid")) {
			t->tid = json_input_u32(&r->in);
		} else if (json_input_is(&r->in, "thread")) {
			t->name = json_input_string(&r->in);
		} else {
			json_skip(&r->in.json);
		}
	}
}

/* Rounds the running sum rather than each weight, so that the total is right to the unit. */
static void add_samples(struct reader *r, const struct track *t)
{
	struct profile_sample s = { .thread = PROFILE_NONE, .column = t->column };
	double sum = 0;
	size_t first = 0;

	if (t->has_thread)
		s.thread = profile_thread(r->in.p, t->pid, t->tid, t->name);
	for (size_t i = 0; i < t->nr_samples; i++) {
		double weight = t->weights[i] * t->scale, before = sum;

		r->total += weight;
		if (!(weight >= 0) || !(r->total < (double)TREE_MAX_TOTAL)) {
			r->in.problem =
				weight < 0 ? "a weight is negative" : "its sum is too large";
			return;
		}
		sum += weight;
		s.weight = (uint64_t)(llround(sum) - llround(before));
		s.stack = profile_stack(r->in.p, t->stacks + first, t->ends[i] - first);
		profile_add_sample(r->in.p, &s);
		first = t->ends[i];
		r->in.p->meta.weighted |= !t->is_ours && t->weights[i] != *t->weights;
	}
}

static void read_track(struct reader *r)
{
	struct track t = { .scale = 1, .column = NR_COLUMNS };
	uint32_t name = 0;

	json_enter(&r->in.json, '{');
	while (json_input_key(&r->in)) {
		if (json_input_is(&r->in, "name"))
			name = json_input_string(&r->in);
		else if (json_input_is(&r->in, "unit"))
			read_unit(r, &t);
		else if (json_input_is(&r->in, "samples"))
			read_samples(r, &t);
		else if (json_input_is(&r->in, "weights"))
			read_weights(r, &t);
		else if (json_input_is(&r->in, "events"))
			read_events(r, &t);
		else if (json_input_is(&r->in, "sprof"))
			read_track_extras(r, &t);
		else
			json_skip(&r->in.json);
	}
	r->nr_profiles++;
	if (t.column == NR_COLUMNS)
		t.column = COLUMN_COUNT;
	if (!t.name)
		t.name = name;
	/* Several profiles of one file are kept apart as threads. */
	t.has_thread |= r->nr_listed > 1 && t.pid == 0;
	t.tid = t.tid ? t.tid : (uint32_t)r->nr_profiles;
	if (!json_failed(&r->in.json) && t.nr_weights != t.nr_samples)
		r->in.problem = "it has more samples than weights, or fewer";
	if (!json_failed(&r->in.json) && !r->in.problem)
		add_samples(r, &t);
	free(t.stacks);
	free(t.ends);
	free(t.weights);
}

static void read_profiles(struct reader *r)
{
	json_enter(&r->in.json, '[');
	while (json_element(&r->in.json) && !r->in.problem)
		read_track(r);
}

static void count_profiles(struct reader *r)
{
	json_enter(&r->in.json, '[');
	for (r->nr_listed = 0; json_element(&r->in.json); r->nr_listed++)
		json_skip(&r->in.json);
}

/* One pass over the file, with a function for each key of interest; `shared` may be NULL. */
static void read_file(struct reader *r, void (*shared)(struct reader *),
		      void (*profiles)(struct reader *))
{
	struct json_input *in = &r->in;

	json_input_rewind(in);
	json_enter(&in->json, '{');
	while (!in->problem && json_input_key(in)) {
		if (shared && json_input_is(in, "shared"))
			shared(r);
		else if (json_input_is(in, "profiles"))
			profiles(r);
		else if (json_input_is(in, "name") && json_peek(&in->json) == '"')
			in->p->meta.command = json_input_string(in);
		else
			json_skip(&in->json);
	}
}

static int speedscope_read(FILE *f, const char *name, const struct import_opts *opts,
			   struct profile **ret_profile)
{
	struct reader r = { 0 };
	int err = json_input_init(&r.in, f, name);

	(void)opts;
	if (err)
		return err;
	read_file(&r, read_shared, count_profiles);
	if (!r.in.problem && !json_failed(&r.in.json))
		read_file(&r, NULL, read_profiles);
	r.in.may_be_empty = r.nr_profiles > 0;
	free(r.frames);
	return json_input_finish(&r.in, "speedscope", ret_profile);
}

const struct importer import_speedscope = {
	.name = "speedscope",
	.is = speedscope_is,
	.read = speedscope_read,
};
