/*
 * Takes what a source hands over. The vocabulary (strings, modules, frames, stacks) is one profile
 * without samples, which only grows, because a source keeps the ids that it was given; its limits
 * are those of live_limits.
 */
#include "output/live/live.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/column.h"
#include "core/profile/copy.h"
#include "core/profile/facts.h"
#include "core/profile/process_rows.h"
#include "core/profile/source.h"

#define SETTLED 1     /* waits for no round */
#define SOON_PART 50  /* a round is due soon if more than 1/50 of the samples wait for it, */
#define SOON_LEAST 5  /* and so many: right after a round, one sample is a large part */
#define URGENT_PART 5 /* it is urgent if more than 1/5 do */

const struct live_limits live_limits_default = {
	.threads = 1u << 18,
	.stack_frames = 1u << 24,
	.entries = 1u << 20,
	.string_bytes = 64u << 20,
};

struct live {
	struct sink sink;  /* first: the hooks cast back */
	struct sink *into; /* of the vocabulary */
	struct profile *p;
	struct slices *slices;
	struct live_limits limits;
	uint32_t own_pid;
	uint32_t left_out;	 /* the stack of samples without room */
	uint32_t left_out_frame; /* its frame */
	uint32_t other_thread;	 /* PROFILE_NONE: not needed so far */
	size_t string_bytes;
	uint64_t nr_samples;
	pthread_mutex_t lock;
	/* Frames that need names, see live_round_new(). */
	uint32_t round;			   /* the number of the next one, from 2 on */
	uint32_t *stack_seen, *frame_seen; /* by id: the round that it waits for, or SETTLED */
	size_t stack_seen_capacity, frame_seen_capacity;
	uint32_t *unnamed;
	size_t nr_unnamed, unnamed_capacity;
	uint64_t nr_since, nr_waiting; /* samples since the last round; of these with such frames */
};

static struct live *lock_of(struct sink *sink)
{
	struct live *l = (struct live *)sink;

	pthread_mutex_lock(&l->lock);
	return l;
}

/* Is there no room for a stack that is not there yet? Targets choose names and addresses. */
static bool is_full(const struct live *l)
{
	return l->p->nr_stacks_left_out || l->p->nr_frames >= l->limits.entries ||
	       l->p->nr_modules >= l->limits.entries || l->p->nr_strings >= l->limits.entries ||
	       l->string_bytes >= l->limits.string_bytes;
}

static uint32_t sink_string(struct sink *sink, const char *s, size_t length)
{
	struct live *l = lock_of(sink);
	size_t nr = l->p->nr_strings;
	uint32_t id = 0;

	if (nr < l->limits.entries && l->string_bytes < l->limits.string_bytes)
		id = l->into->string(l->into, s, length);
	if (l->p->nr_strings > nr)
		l->string_bytes += length;
	pthread_mutex_unlock(&l->lock);
	return id;
}

static uint32_t sink_module(struct sink *sink, const struct profile_module *module)
{
	struct live *l = lock_of(sink);
	uint32_t id = l->p->frames[l->left_out_frame].module;

	if (!is_full(l))
		id = l->into->module(l->into, module);
	pthread_mutex_unlock(&l->lock);
	return id;
}

static uint32_t sink_thread(struct sink *sink, uint32_t pid, uint32_t tid, uint32_t comm)
{
	struct live *l = lock_of(sink);
	uint32_t id = l->other_thread;

	if (l->p->nr_threads < l->limits.threads)
		id = l->into->thread(l->into, pid, tid, comm);
	else if (id == PROFILE_NONE)
		id = l->other_thread = l->into->thread(
			l->into, 0, 0, profile_cstring(l->p, "[over the limit of threads]"));
	pthread_mutex_unlock(&l->lock);
	return id;
}

static uint32_t sink_frame(struct sink *sink, uint32_t module, uint64_t address)
{
	struct live *l = lock_of(sink);
	uint32_t id = l->left_out_frame;

	if (!is_full(l))
		id = l->into->frame(l->into, module, address);
	pthread_mutex_unlock(&l->lock);
	return id;
}

static uint32_t sink_stack(struct sink *sink, const uint32_t *frames, size_t nr)
{
	struct live *l = lock_of(sink);
	uint32_t id = l->left_out;

	if (!is_full(l))
		id = l->into->stack(l->into, frames, nr);
	else
		l->p->nr_stacks_left_out++;
	pthread_mutex_unlock(&l->lock);
	return id;
}

static uint32_t *seen_at(uint32_t **seen, size_t *capacity, uint32_t id)
{
	size_t before = *capacity;

	*seen = xgrow(*seen, capacity, (size_t)id + 1, sizeof(**seen));
	memset(*seen + before, 0, (*capacity - before) * sizeof(**seen));
	return &(*seen)[id];
}

/* Notes a frame that has a sample. Returns the round that it waits for, or SETTLED. */
static uint32_t note_frame(struct live *l, uint32_t id)
{
	uint32_t *seen = seen_at(&l->frame_seen, &l->frame_seen_capacity, id);
	const struct profile_frame *f = &l->p->frames[id];

	if (*seen)
		return *seen;
	*seen = SETTLED;
	if (f->nr_locations || !profile_module_has_addresses(&l->p->modules[f->module]))
		return SETTLED;
	*seen = l->round;
	l->unnamed =
		xgrow(l->unnamed, &l->unnamed_capacity, l->nr_unnamed + 1, sizeof(*l->unnamed));
	l->unnamed[l->nr_unnamed++] = id;
	return l->round;
}

/* Notes the frames of a stack that has its first sample, and whether it waits for names. */
static void note_frames(struct live *l, uint32_t stack)
{
	const struct profile_stack *s = &l->p->stacks[stack];
	uint32_t *seen = seen_at(&l->stack_seen, &l->stack_seen_capacity, stack);
	uint32_t waits_for = SETTLED;

	for (uint32_t i = 0; !*seen && i < s->nr_frames; i++) {
		uint32_t round = note_frame(l, l->p->stack_frames[s->first_frame + i]);

		waits_for = round > waits_for ? round : waits_for;
	}
	if (!*seen)
		*seen = waits_for;
	l->nr_since++;
	l->nr_waiting += *seen == l->round;
}

static void sink_sample(struct sink *sink, const struct profile_sample *sample)
{
	struct live *l = lock_of(sink);

	note_frames(l, sample->stack);
	slices_add(l->slices, sample, l->left_out);
	l->nr_samples++;
	pthread_mutex_unlock(&l->lock);
}

/*
 * What is counted from the start of a recording to its end, as the sums of a GPU's work, says
 * nothing of a window; such facts are not kept. What a GPU did is in columns of samples, too.
 */
static void sink_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	struct live *l = lock_of(sink);

	if (kind == FACT_EVENT || kind == FACT_LIMIT || kind == FACT_PROCESS || kind == FACT_RANK)
		l->into->fact(l->into, kind, row);
	pthread_mutex_unlock(&l->lock);
}

static bool sink_wants(struct sink *sink, const struct profile_sample *sample)
{
	struct live *l = lock_of(sink);
	bool wanted =
		sample->thread == PROFILE_NONE || l->p->threads[sample->thread].pid != l->own_pid;

	pthread_mutex_unlock(&l->lock);
	return wanted;
}

static uint32_t text(struct profile *p, const char *s)
{
	return profile_cstring(p, s ? s : "");
}

static struct profile_meta meta_of(struct profile *p, const struct live_meta *m)
{
	return (struct profile_meta){
		.hostname = text(p, m->hostname),
		.kernel = text(p, m->kernel),
		.command = text(p, m->command),
		.source = text(p, m->source),
		.event = text(p, m->event),
		.version = text(p, m->version),
		.freq_hz = m->freq_hz,
		.nr_cpus = m->nr_cpus,
		.start_realtime_ns = m->start_realtime_ns,
		.start_ns = m->start_ns,
	};
}

struct live *live_new(const struct live_meta *meta, const struct live_limits *limits)
{
	struct live *l = xcalloc(1, sizeof(*l));

	l->p = profile_new();
	l->p->meta = meta_of(l->p, meta);
	l->p->stack_frames_max = limits->stack_frames;
	l->into = profile_sink_new(l->p);
	l->slices = slices_new(meta->window_s, meta->start_ns);
	l->limits = *limits;
	l->own_pid = (uint32_t)meta->own_pid;
	l->other_thread = PROFILE_NONE;
	l->round = SETTLED + 1;
	l->left_out_frame = profile_marker_frame(l->p, MARKER_OVER_LIMIT);
	l->left_out = profile_stack(l->p, &l->left_out_frame, 1);
	pthread_mutex_init(&l->lock, NULL);
	l->sink = (struct sink){
		.string = sink_string,
		.module = sink_module,
		.thread = sink_thread,
		.frame = sink_frame,
		.stack = sink_stack,
		.sample = sink_sample,
		.fact = sink_fact,
		.wants = sink_wants,
	};
	return l;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	slices_free(l->slices);
	profile_sink_free(l->into);
	profile_free(l->p);
	free(l->stack_seen);
	free(l->frame_seen);
	free(l->unnamed);
	free(l);
}

struct sink *live_sink(struct live *l)
{
	return &l->sink;
}

void live_advance(struct live *l, uint64_t now_ns, const struct profile_stats *stats)
{
	pthread_mutex_lock(&l->lock);
	slices_advance(l->slices, now_ns, stats);
	pthread_mutex_unlock(&l->lock);
}

void live_reset(struct live *l, uint64_t now_ns)
{
	pthread_mutex_lock(&l->lock);
	slices_reset(l->slices, now_ns);
	pthread_mutex_unlock(&l->lock);
}

/* The limits that a source has hit; profile_copy() leaves them to each recording. */
static void copy_limits(struct profile *to, const struct profile *from)
{
	const struct fact_limit *rows;
	size_t nr;

	rows = facts_rows(from, FACT_LIMIT, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct fact_limit row = rows[i];

		row.text = profile_cstring(to, profile_str(from, (uint32_t)row.text));
		facts_put(to, FACT_LIMIT, &row);
	}
}

static void copy_meta(struct profile *to, const struct profile *from,
		      const struct slices_span *span)
{
	const struct profile_meta *m = &from->meta;
	const struct live_meta meta = {
		.hostname = profile_str(from, m->hostname),
		.kernel = profile_str(from, m->kernel),
		.command = profile_str(from, m->command),
		.source = profile_str(from, m->source),
		.event = profile_str(from, m->event),
		.version = profile_str(from, m->version),
		.freq_hz = m->freq_hz,
		.nr_cpus = m->nr_cpus,
		.start_realtime_ns = m->start_realtime_ns + (span->start_ns - m->start_ns),
		.start_ns = span->start_ns,
	};

	to->meta = meta_of(to, &meta);
	to->meta.end_ns = span->end_ns;
	to->stats = span->stats;
}

void live_profile_copy(const struct profile *from, struct profile *to)
{
	struct sink *sink = profile_sink_new(to);
	struct process_rows *processes = process_rows_new();

	profile_copy(from, &(struct profile_copy_opts){ .sink = sink, .vocabulary = to });
	process_rows_add(processes, from, to, NULL);
	process_rows_write(processes, to, sink);
	copy_limits(to, from);
	process_rows_free(processes);
	profile_sink_free(sink);
}

struct profile *live_copy(struct live *l, struct live_state *ret_state)
{
	struct profile *copy = profile_new(), window;

	pthread_mutex_lock(&l->lock);
	slices_span(l->slices, &ret_state->span);
	slices_cpu_history(l->slices, ret_state->cpu_ns);
	ret_state->nr_samples_ever = l->nr_samples;
	ret_state->threads_full = l->other_thread != PROFILE_NONE;
	ret_state->stacks_full = l->p->nr_stacks_left_out || ret_state->span.nr_over_limit;
	window = *l->p; /* its tables are only read */
	window.samples = slices_samples(l->slices, &window.nr_samples);
	copy_meta(copy, &window, &ret_state->span);
	live_profile_copy(&window, copy);
	pthread_mutex_unlock(&l->lock);
	free(window.samples);
	return copy;
}

struct live_round *live_round_new(struct live *l, size_t max_modules)
{
	struct live_round *r = NULL;
	size_t kept = 0, modules_capacity = 0, frames_capacity = 0;

	pthread_mutex_lock(&l->lock);
	l->nr_since = l->nr_waiting = 0;
	for (size_t i = 0; i < l->nr_unnamed; i++) {
		uint32_t frame = l->unnamed[i], id, module;
		const struct profile_frame *f = &l->p->frames[frame];
		struct profile_module m = l->p->modules[f->module];

		if (!r) {
			r = xcalloc(1, sizeof(*r));
			r->profile = profile_new();
			r->profile->meta.start_realtime_ns = l->p->meta.start_realtime_ns;
		}
		m.path = profile_cstring(r->profile, profile_str(l->p, m.path));
		module = profile_module(r->profile, &m);
		if (module >= max_modules) { /* for another round */
			l->unnamed[kept++] = frame;
			continue;
		}
		id = profile_frame(r->profile, module, f->address);
		r->modules = xgrow(r->modules, &modules_capacity, (size_t)module + 1,
				   sizeof(*r->modules));
		r->modules[module] = f->module;
		r->frames = xgrow(r->frames, &frames_capacity, (size_t)id + 1, sizeof(*r->frames));
		r->frames[id] = frame;
	}
	l->nr_unnamed = kept;
	l->round += !kept; /* those that are left go on waiting */
	pthread_mutex_unlock(&l->lock);
	return r;
}

enum live_urgency live_round_urgency(struct live *l)
{
	enum live_urgency urgency = LIVE_CALM;

	pthread_mutex_lock(&l->lock);
	if (l->nr_waiting >= SOON_LEAST && l->nr_waiting * SOON_PART > l->nr_since)
		urgency = l->nr_waiting * URGENT_PART > l->nr_since ? LIVE_URGENT : LIVE_SOON;
	pthread_mutex_unlock(&l->lock);
	return urgency;
}

static uint32_t function_of(struct live *l, const struct live_round *r, uint32_t id)
{
	const struct profile *p = r->profile;
	struct profile_function f = p->functions[id];

	f.name = profile_cstring(l->p, profile_str(p, f.name));
	f.system_name = profile_cstring(l->p, profile_str(p, f.system_name));
	f.file = profile_cstring(l->p, profile_str(p, f.file));
	if (f.module != PROFILE_NONE)
		f.module = r->modules[f.module];
	return profile_function(l->p, &f);
}

void live_round_end(struct live *l, struct live_round *r)
{
	const struct profile *p = r->profile;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];
		struct profile_location *list;

		if (!f->nr_locations)
			continue;
		list = xcalloc(f->nr_locations, sizeof(*list));
		for (uint32_t k = 0; k < f->nr_locations; k++) {
			list[k] = p->locations[f->first_location + k];
			list[k].function = function_of(l, r, list[k].function);
		}
		profile_set_locations(l->p, r->frames[i], list, f->nr_locations);
		free(list);
	}
	pthread_mutex_unlock(&l->lock);
	profile_free(r->profile);
	free(r->modules);
	free(r->frames);
	free(r);
}
