/*
 * A map per table leads from ids of the vocabulary to ids of the segment, and is emptied at a turn.
 * Facts pass through with their ids translated. Some are remembered: rows of events, which every
 * segment repeats; rows of processes, which a segment repeats at the process's first thread; and
 * counts of limits, of which a segment gets what was added in its time.
 */
#include "core/segments/segment_sink.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"

/* About the sum of the limits below. */
#define MAX_BYTES (30ull << 20)
#define MAX_THREADS (1u << 16)
#define MAX_STRINGS (1u << 17)
#define MAX_FRAMES (1u << 18)
#define MAX_STACK_FRAMES (1u << 21)
#define MAX_MODULES (1u << 15)

struct ids {
	uint32_t *at; /* PROFILE_NONE: not in the segment yet */
	size_t nr, capacity;
};

struct process {
	struct fact_process process;
	struct fact_rank rank;
	bool has_process, has_rank, is_told;
};

struct segment_sink {
	struct sink front; /* first: the hooks cast back */
	struct sink *to;
	struct profile *all;
	uint64_t max_bytes; /* of `all` and the maps */
	struct ids strings, modules, threads, frames, stacks;
	uint32_t *path; /* scratch: the frames of a stack */
	size_t path_capacity;
	uint64_t nr_dropped;
	struct fact_event events[NR_EVENT_COLUMNS];
	size_t nr_events;
	struct process *processes;
	size_t nr_processes, processes_capacity;
	struct number_map process_of;		     /* index + 1 in processes[], by pid */
	uint64_t limits[NR_LIMITS], told[NR_LIMITS]; /* counts so far, and at the last turn */
};

static struct segment_sink *sink_of(struct sink *sink)
{
	return (struct segment_sink *)sink;
}

/* The place of the segment's id for `id`; valid until the table grows. */
static uint32_t *slot(struct ids *ids, uint32_t id)
{
	if (id >= ids->nr) {
		ids->at = xgrow(ids->at, &ids->capacity, id + 1, sizeof(*ids->at));
		memset(ids->at + ids->nr, 0xff, (id + 1 - ids->nr) * sizeof(*ids->at));
		ids->nr = id + 1;
	}
	return &ids->at[id];
}

static void forget_ids(struct segment_sink *s)
{
	s->strings.nr = s->modules.nr = s->threads.nr = s->frames.nr = s->stacks.nr = 0;
}

static uint32_t to_string(struct segment_sink *s, uint32_t id)
{
	uint32_t *at = slot(&s->strings, id);
	const char *text = profile_str(s->all, id);

	if (*at == PROFILE_NONE)
		*at = s->to->string(s->to, text, strlen(text));
	return *at;
}

static uint32_t to_module(struct segment_sink *s, uint32_t id)
{
	struct profile_module m = s->all->modules[id];
	uint32_t *at = slot(&s->modules, id);

	if (*at != PROFILE_NONE)
		return *at;
	m.path = to_string(s, m.path);
	if (m.kind == MODULE_PYTHON)
		m.code_name = to_string(s, m.code_name);
	*at = s->to->module(s->to, &m);
	return *at;
}

static uint32_t to_frame(struct segment_sink *s, uint32_t id)
{
	const struct profile_frame f = s->all->frames[id];
	uint32_t *at = slot(&s->frames, id);
	bool is_name = s->all->modules[f.module].kind == MODULE_NAMED;

	if (*at == PROFILE_NONE)
		*at = s->to->frame(s->to, to_module(s, f.module),
				   is_name ? to_string(s, (uint32_t)f.address) : f.address);
	return *at;
}

static uint32_t to_stack(struct segment_sink *s, uint32_t id)
{
	const struct profile_stack stack = s->all->stacks[id];
	uint32_t *at = slot(&s->stacks, id);

	if (*at != PROFILE_NONE)
		return *at;
	s->path = xgrow(s->path, &s->path_capacity, stack.nr_frames + 1, sizeof(*s->path));
	for (uint32_t i = 0; i < stack.nr_frames; i++)
		s->path[i] = to_frame(s, s->all->stack_frames[stack.first_frame + i]);
	*at = s->to->stack(s->to, s->path, stack.nr_frames);
	return *at;
}

static struct process *process_at(struct segment_sink *s, uint64_t pid)
{
	bool is_new;
	uint32_t *at = number_map_at(&s->process_of, pid, &is_new);

	if (is_new) {
		s->processes = xgrow(s->processes, &s->processes_capacity, s->nr_processes + 1,
				     sizeof(*s->processes));
		s->processes[s->nr_processes] = (struct process){ 0 };
		*at = (uint32_t)++s->nr_processes;
	}
	return &s->processes[*at - 1];
}

static uint32_t to_thread(struct segment_sink *s, uint32_t id);

static void put_fact(struct segment_sink *s, enum fact_kind kind, const void *row)
{
	const struct fact_info *info = fact_info(kind);
	const uint64_t *from = row;
	uint64_t to[FACT_MAX_FIELDS];

	for (uint32_t i = 0; i < info->nr_fields; i++) {
		bool is_none = (uint32_t)from[i] == PROFILE_NONE;

		switch ((enum fact_field)info->fields[i]) {
		case FIELD_STRING: to[i] = to_string(s, (uint32_t)from[i]); break;
		case FIELD_THREAD:
			to[i] = is_none ? PROFILE_NONE : to_thread(s, (uint32_t)from[i]);
			break;
		case FIELD_STACK:
			to[i] = is_none ? PROFILE_NONE : to_stack(s, (uint32_t)from[i]);
			break;
		case FIELD_NUMBER:
		case FIELD_SIGNED:
		case FIELD_PID:
		case FIELD_TIME: to[i] = from[i]; break;
		}
	}
	s->to->fact(s->to, kind, to);
}

static void tell_process(struct segment_sink *s, uint64_t pid)
{
	struct process *p = process_at(s, pid);

	if (p->is_told)
		return;
	p->is_told = true;
	if (p->has_process)
		put_fact(s, FACT_PROCESS, &p->process);
	if (p->has_rank)
		put_fact(s, FACT_RANK, &p->rank);
}

static uint32_t to_thread(struct segment_sink *s, uint32_t id)
{
	const struct profile_thread t = s->all->threads[id];
	uint32_t *at = slot(&s->threads, id);

	if (*at != PROFILE_NONE)
		return *at;
	*at = s->to->thread(s->to, t.pid, t.tid, to_string(s, t.comm));
	tell_process(s, t.pid);
	return s->threads.at[id];
}

static uint32_t front_string(struct sink *sink, const char *text, size_t length)
{
	return profile_string(sink_of(sink)->all, text, length);
}

static uint32_t front_module(struct sink *sink, const struct profile_module *module)
{
	return profile_module(sink_of(sink)->all, module);
}

static uint32_t front_thread(struct sink *sink, uint32_t pid, uint32_t tid, uint32_t comm)
{
	return profile_thread(sink_of(sink)->all, pid, tid, comm);
}

static uint32_t front_frame(struct sink *sink, uint32_t module, uint64_t address)
{
	return profile_frame(sink_of(sink)->all, module, address);
}

static uint32_t front_stack(struct sink *sink, const uint32_t *frames, size_t nr)
{
	return profile_stack(sink_of(sink)->all, frames, nr);
}

static void front_sample(struct sink *sink, const struct profile_sample *sample)
{
	struct segment_sink *s = sink_of(sink);
	struct profile_sample to = *sample;

	if (!s->to) {
		s->nr_dropped++;
		return;
	}
	to.stack = to_stack(s, sample->stack);
	if (sample->thread != PROFILE_NONE)
		to.thread = to_thread(s, sample->thread);
	if (sample->labels)
		to.labels = to_string(s, sample->labels);
	s->to->sample(s->to, &to);
}

static void keep_event(struct segment_sink *s, const struct fact_event *row)
{
	size_t i = 0;

	while (i < s->nr_events && s->events[i].column != row->column)
		i++;
	if (i == NR_EVENT_COLUMNS)
		return;
	s->events[i] = *row;
	s->nr_events += i == s->nr_events;
}

/* Remembers the row if need be. Returns whether it must be written now. */
static bool keep_fact(struct segment_sink *s, enum fact_kind kind, const void *row)
{
	struct process *p;

	switch (kind) {
	case FACT_EVENT: keep_event(s, row); return true;
	case FACT_PROCESS:
		p = process_at(s, ((const struct fact_process *)row)->pid);
		p->process = *(const struct fact_process *)row;
		p->has_process = true;
		return p->is_told;
	case FACT_RANK:
		p = process_at(s, ((const struct fact_rank *)row)->pid);
		p->rank = *(const struct fact_rank *)row;
		p->has_rank = true;
		return p->is_told;
	default: return true;
	}
}

static void front_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	struct segment_sink *s = sink_of(sink);
	struct fact_limit limit;

	if (kind == FACT_LIMIT && ((const struct fact_limit *)row)->limit < NR_LIMITS) {
		limit = *(const struct fact_limit *)row;
		s->limits[limit.limit] = limit.count;
		limit.count -= s->told[limit.limit];
		row = &limit;
	}
	if (keep_fact(s, kind, row) && s->to)
		put_fact(s, kind, row);
}

struct segment_sink *segment_sink_new(uint64_t max_bytes)
{
	struct segment_sink *s = xcalloc(1, sizeof(*s));

	s->front = (struct sink){
		.string = front_string,
		.module = front_module,
		.thread = front_thread,
		.frame = front_frame,
		.stack = front_stack,
		.sample = front_sample,
		.fact = front_fact,
	};
	s->all = profile_new();
	s->max_bytes = max_bytes ? max_bytes : MAX_BYTES;
	return s;
}

void segment_sink_free(struct segment_sink *s)
{
	if (!s)
		return;
	profile_free(s->all);
	free(s->strings.at);
	free(s->modules.at);
	free(s->threads.at);
	free(s->frames.at);
	free(s->stacks.at);
	free(s->path);
	free(s->processes);
	number_map_fini(&s->process_of);
	free(s);
}

struct sink *segment_sink_front(struct segment_sink *s)
{
	return &s->front;
}

void segment_sink_turn(struct segment_sink *s, struct sink *to)
{
	forget_ids(s);
	s->to = to;
	memcpy(s->told, s->limits, sizeof(s->told));
	for (size_t i = 0; i < s->nr_processes; i++)
		s->processes[i].is_told = false;
	for (size_t i = 0; to && i < s->nr_events; i++)
		put_fact(s, FACT_EVENT, &s->events[i]);
}

uint64_t segment_sink_take_dropped(struct segment_sink *s)
{
	uint64_t nr = s->nr_dropped;

	s->nr_dropped = 0;
	return nr;
}

uint32_t segment_sink_source_module(const struct segment_sink *s, uint32_t module)
{
	for (size_t i = 0; i < s->modules.nr; i++)
		if (s->modules.at[i] == module)
			return (uint32_t)i;
	return PROFILE_NONE;
}

static bool is_over(const struct segment_sink *s, size_t nr, uint64_t max)
{
	return nr > max * s->max_bytes / MAX_BYTES;
}

bool segment_sink_is_large(const struct segment_sink *s)
{
	const struct profile *p = s->all;

	return is_over(s, p->nr_threads, MAX_THREADS) || is_over(s, p->nr_strings, MAX_STRINGS) ||
	       is_over(s, p->nr_frames, MAX_FRAMES) ||
	       is_over(s, p->nr_stack_frames, MAX_STACK_FRAMES) ||
	       is_over(s, p->nr_modules, MAX_MODULES);
}

void segment_sink_forget(struct segment_sink *s)
{
	struct profile *before = s->all;

	s->all = profile_new();
	for (size_t i = 0; i < s->nr_events; i++) {
		uint64_t *name = &s->events[i].name;

		*name = profile_cstring(s->all, profile_str(before, (uint32_t)*name));
	}
	profile_free(before);
	forget_ids(s);
	s->nr_processes = 0;
	number_map_fini(&s->process_of);
	s->process_of = (struct number_map){ 0 };
}
