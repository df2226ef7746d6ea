/*
 * Reads speedscope's JSON (https://www.speedscope.app/file-format-schema.json). The keys of an
 * object come in any order, so the file is read twice: first the frames, then the profiles that
 * refer to them. The objects "sprof" in sprof's own exports restore what speedscope has no field
 * for.
 */
#include "output/import/importer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/named_frames.h"
#include "output/codec/json_read.h"
#include "output/tree/tree.h"

#define MAX_SIZE ((size_t)2 << 30)

enum { MAX_DEPTH = 1 << 16, MAX_STACK_FRAMES = 1 << 28 };

/* One profile of the file: a thread or a run of a program. */
struct track {
	bool is_evented, has_thread;
	bool is_ours; /* sprof wrote it */
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
	struct json json;
	struct buffer key, text;
	struct profile *p;
	const char *name;
	uint32_t *frames; /* by number in the file */
	size_t nr_frames, frames_capacity;
	size_t nr_profiles, nr_listed; /* read so far; in the file */
	double total;		       /* of all weights, in units of the columns */
	const char *problem;	       /* an error other than of syntax */
};

static bool speedscope_is(const char *data, size_t size)
{
	const char *brace = data;

	while (brace < data + size && memchr(" \t\r\n", *brace, 4))
		brace++;
	if (brace == data + size || *brace != '{')
		return false;
	return memmem(data, size, "speedscope", 10) || memmem(data, size, "\"shared\"", 8) ||
	       memmem(data, size, "\"profiles\"", 10);
}

static bool is_key(const struct reader *r, const char *key)
{
	return r->key.size == strlen(key) && !memcmp(r->key.data, key, r->key.size);
}

static uint32_t read_string(struct reader *r)
{
	if (json_peek(&r->json) != '"') {
		json_skip(&r->json);
		return 0;
	}
	json_string(&r->json, &r->text);
	return profile_string(r->p, r->text.data, r->text.size);
}

/* A whole number below 2^32; 0 for anything else. */
static uint32_t read_u32(struct reader *r)
{
	double number = 0;

	if (json_peek(&r->json) != '0') {
		json_skip(&r->json);
		return 0;
	}
	json_number(&r->json, &number);
	return number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void read_frame_extras(struct reader *r, struct import_function *f)
{
	uint8_t ignored;

	json_enter(&r->json, '{');
	while (json_key(&r->json, &r->key)) {
		if (is_key(r, "kind")) {
			uint8_t kind = import_kind(profile_str(r->p, read_string(r)));

			f->kind = kind < NR_FUNCTION_KINDS ? kind : f->kind;
		} else if (is_key(r, "module")) {
			f->module = import_module(r->p, profile_str(r->p, read_string(r)), "",
						  &ignored);
		} else if (is_key(r, "inlined") && json_peek(&r->json) != 'n') {
			json_bool(&r->json, &f->inlined);
		} else {
			json_skip(&r->json);
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

	json_enter(&r->json, '{');
	while (json_key(&r->json, &r->key)) {
		if (is_key(r, "name"))
			f.name = read_string(r);
		else if (is_key(r, "file"))
			f.file = read_string(r);
		else if (is_key(r, "line"))
			f.start_line = read_u32(r);
		else if (is_key(r, "sprof"))
			read_frame_extras(r, &f);
		else
			json_skip(&r->json);
	}
	f.system_name = f.name;
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = make_frame(r->p, &f);
}

static void read_shared(struct reader *r)
{
	json_enter(&r->json, '{');
	while (json_key(&r->json, &r->key)) {
		if (!is_key(r, "frames")) {
			json_skip(&r->json);
			continue;
		}
		json_enter(&r->json, '[');
		while (json_element(&r->json))
			read_frame(r);
	}
}

/* ---- a profile */

static void add_frame(struct reader *r, struct track *t, double number)
{
	if (!(number >= 0 && number < (double)r->nr_frames)) {
		r->problem = "a stack refers to a frame that does not exist";
		r->json.failed = true;
		return;
	}
	if (t->nr_stacks == MAX_STACK_FRAMES) {
		r->problem = "its stacks are too large";
		r->json.failed = true;
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
	json_enter(&r->json, '[');
	while (json_element(&r->json)) {
		size_t nr = 0;

		json_enter(&r->json, '[');
		while (json_element(&r->json)) {
			double number;

			if (json_number(&r->json, &number) && nr++ < MAX_DEPTH)
				add_frame(r, t, number);
		}
		end_stack(t);
	}
}

static void read_weights(struct reader *r, struct track *t)
{
	json_enter(&r->json, '[');
	while (json_element(&r->json)) {
		double number;

		if (json_number(&r->json, &number))
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
		r->problem = "its events are not properly nested";
	r->json.failed |= r->problem != NULL;
}

static void read_events(struct reader *r, struct track *t)
{
	struct events *e = xcalloc(1, sizeof(*e));

	t->is_evented = true;
	e->at = -INFINITY;
	json_enter(&r->json, '[');
	while (json_element(&r->json)) {
		double frame = -1, at = 0;
		char type = 0;

		json_enter(&r->json, '{');
		while (json_key(&r->json, &r->key)) {
			if (is_key(r, "frame"))
				json_number(&r->json, &frame);
			else if (is_key(r, "at"))
				json_number(&r->json, &at);
			else if (is_key(r, "type"))
				type = profile_str(r->p, read_string(r))[0];
			else
				json_skip(&r->json);
		}
		if (!json_failed(&r->json))
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
	const char *unit = profile_str(r->p, read_string(r));

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
	json_enter(&r->json, '{');
	while (json_key(&r->json, &r->key)) {
		if (is_key(r, "column")) {
			t->column = (uint8_t)column_find(profile_str(r->p, read_string(r)));
		} else if (is_key(r, "pid")) {
			t->pid = read_u32(r);
			t->has_thread = true;
		} else if (is_key(r, "tid")) {
			t->tid = read_u32(r);
		} else if (is_key(r, "thread")) {
			t->name = read_string(r);
		} else {
			json_skip(&r->json);
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
		s.thread = profile_thread(r->p, t->pid, t->tid, t->name);
	for (size_t i = 0; i < t->nr_samples; i++) {
		double weight = t->weights[i] * t->scale, before = sum;

		r->total += weight;
		if (!(weight >= 0) || !(r->total < (double)TREE_MAX_TOTAL)) {
			r->problem = weight < 0 ? "a weight is negative" : "its sum is too large";
			return;
		}
		sum += weight;
		s.weight = (uint64_t)(llround(sum) - llround(before));
		s.stack = profile_stack(r->p, t->stacks + first, t->ends[i] - first);
		profile_add_sample(r->p, &s);
		first = t->ends[i];
		r->p->meta.weighted |= !t->is_ours && t->weights[i] != *t->weights;
	}
}

static void read_track(struct reader *r)
{
	struct track t = { .scale = 1, .column = NR_COLUMNS };
	uint32_t name = 0;

	json_enter(&r->json, '{');
	while (json_key(&r->json, &r->key)) {
		if (is_key(r, "name"))
			name = read_string(r);
		else if (is_key(r, "unit"))
			read_unit(r, &t);
		else if (is_key(r, "samples"))
			read_samples(r, &t);
		else if (is_key(r, "weights"))
			read_weights(r, &t);
		else if (is_key(r, "events"))
			read_events(r, &t);
		else if (is_key(r, "sprof"))
			read_track_extras(r, &t);
		else
			json_skip(&r->json);
	}
	r->nr_profiles++;
	if (t.column == NR_COLUMNS)
		t.column = COLUMN_COUNT;
	if (!t.name)
		t.name = name;
	/* Several profiles of one file are kept apart as threads. */
	t.has_thread |= r->nr_listed > 1 && t.pid == 0;
	t.tid = t.tid ? t.tid : (uint32_t)r->nr_profiles;
	if (!json_failed(&r->json) && t.nr_weights != t.nr_samples)
		r->problem = "it has more samples than weights, or fewer";
	if (!json_failed(&r->json) && !r->problem)
		add_samples(r, &t);
	free(t.stacks);
	free(t.ends);
	free(t.weights);
}

static void read_profiles(struct reader *r)
{
	json_enter(&r->json, '[');
	while (json_element(&r->json) && !r->problem)
		read_track(r);
}

static void count_profiles(struct reader *r)
{
	json_enter(&r->json, '[');
	for (r->nr_listed = 0; json_element(&r->json); r->nr_listed++)
		json_skip(&r->json);
}

/* One pass over the file, with a function for each key of interest; `shared` may be NULL. */
static void read_file(struct reader *r, const struct buffer *data, void (*shared)(struct reader *),
		      void (*profiles)(struct reader *))
{
	json_init(&r->json, data->data, data->size);
	json_enter(&r->json, '{');
	while (!r->problem && json_key(&r->json, &r->key)) {
		if (shared && is_key(r, "shared"))
			shared(r);
		else if (is_key(r, "profiles"))
			profiles(r);
		else if (is_key(r, "name") && json_peek(&r->json) == '"')
			r->p->meta.command = read_string(r);
		else
			json_skip(&r->json);
	}
}

static int finish(struct reader *r, const struct buffer *data)
{
	if (r->problem)
		log_error(0, "read '%s': %s", r->name, r->problem);
	else if (json_failed(&r->json))
		log_error(0, "read '%s': it stops being valid speedscope JSON at byte %zu", r->name,
			  (size_t)(r->json.at - data->data));
	else if (!r->nr_profiles)
		log_error(0, "read '%s': it holds no profile", r->name);
	else
		return 0;
	return -EINVAL;
}

static int speedscope_read(FILE *f, const char *name, const struct import_opts *opts,
		struct profile **ret_profile)
{
	struct reader r = { .name = name };
	struct buffer data = { 0 };
	int err = buffer_add_file(&data, f, MAX_SIZE);

	(void)opts;
	if (err) {
		log_error(-err, "read '%s'", name);
		buffer_fini(&data);
		return err;
	}
	r.p = profile_new();
	read_file(&r, &data, read_shared, count_profiles);
	if (!r.problem && !json_failed(&r.json))
		read_file(&r, &data, NULL, read_profiles);
	err = finish(&r, &data);
	if (!r.p->meta.command)
		r.p->meta.command = profile_cstring(r.p, name);
	r.p->meta.source = profile_cstring(r.p, "speedscope");
	r.p->stats.nr_samples = r.p->nr_samples;
	buffer_fini(&data);
	buffer_fini(&r.key);
	buffer_fini(&r.text);
	free(r.frames);
	if (err)
		profile_free(r.p);
	else
		*ret_profile = r.p;
	return err;
}

const struct importer import_speedscope = {
	.name = "speedscope",
	.is = speedscope_is,
	.read = speedscope_read,
};
