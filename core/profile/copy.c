/*
 * Each table is copied once, and a map beside it gives the id of each entry in the sink. Modules
 * and frames of some kinds hold string ids in number fields; those are translated too.
 */
#include "core/profile/copy.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"

struct copier {
	const struct profile *from;
	const struct profile_copy_opts *opts;
	struct sink *sink;
	uint32_t *strings, *modules, *threads, *frames, *stacks, *functions; /* ids in the sink */
	/* scratch: the frames of one stack */
	uint32_t *path;
	uint8_t columns[NR_COLUMNS]; /* the sink's; NR_COLUMNS: no room for the event */
	uint32_t root;		     /* frame of the origin, or PROFILE_NONE */
};

static uint32_t copy_string(struct copier *c, uint32_t id)
{
	const char *s;

	if (c->strings[id] == PROFILE_NONE) {
		s = profile_str(c->from, id);
		c->strings[id] = sink_cstring(c->sink, s);
	}
	return c->strings[id];
}

static uint32_t copy_module(struct copier *c, uint32_t id)
{
	struct profile_module m = c->from->modules[id];

	if (c->modules[id] == PROFILE_NONE) {
		m.path = copy_string(c, m.path);
		if (m.kind == MODULE_PYTHON)
			m.code_name = copy_string(c, m.code_name);
		if (m.kind != MODULE_PYTHON && m.kind != MODULE_MARKER && m.kind != MODULE_NAMED &&
		    !m.build_id_size)
			m.ino += (uint64_t)c->opts->number << 40;
		c->modules[id] = c->sink->module(c->sink, &m);
	}
	return c->modules[id];
}

static uint32_t copy_frame(struct copier *c, uint32_t id)
{
	const struct profile_frame *f = &c->from->frames[id];
	uint64_t address = f->address;

	if (c->frames[id] == PROFILE_NONE) {
		if (c->from->modules[f->module].kind == MODULE_NAMED)
			address = copy_string(c, (uint32_t)address);
		c->frames[id] = c->sink->frame(c->sink, copy_module(c, f->module), address);
	}
	return c->frames[id];
}

static uint32_t copy_stack(struct copier *c, uint32_t id)
{
	const struct profile_stack *s = &c->from->stacks[id];
	uint32_t nr = 0;

	if (c->stacks[id] != PROFILE_NONE)
		return c->stacks[id];
	if (c->root != PROFILE_NONE)
		c->path[nr++] = c->root;
	for (uint32_t i = 0; i < s->nr_frames; i++)
		c->path[nr++] = copy_frame(c, c->from->stack_frames[s->first_frame + i]);
	c->stacks[id] = c->sink->stack(c->sink, c->path, nr);
	return c->stacks[id];
}

uint32_t profile_copy_pid(struct number_map *pids, uint64_t process)
{
	bool is_new;
	uint32_t other = pids ? *number_map_at(pids, process, &is_new) : 0;

	return other ? other : (uint32_t)process;
}

static uint32_t copy_thread(struct copier *c, uint32_t id)
{
	const struct profile_thread *t;
	uint32_t pid;

	if (id == PROFILE_NONE)
		return PROFILE_NONE;
	t = &c->from->threads[id];
	pid = profile_copy_pid(c->opts->pids, hosts_process(t));
	if (c->threads[id] == PROFILE_NONE) /* a main thread stays one */
		c->threads[id] = c->sink->thread(c->sink, pid, t->tid == t->pid ? pid : t->tid,
						 copy_string(c, t->comm));
	return c->threads[id];
}

/* Returns how many were left out. */
static uint64_t copy_samples(struct copier *c)
{
	uint64_t nr_left_out = 0;

	for (size_t i = 0; i < c->from->nr_samples; i++) {
		struct profile_sample s = c->from->samples[i];

		s.column = c->columns[s.column];
		if (s.column == NR_COLUMNS) {
			nr_left_out++;
			continue;
		}
		s.stack = copy_stack(c, s.stack);
		s.thread = copy_thread(c, s.thread);
		s.labels = s.labels ? copy_string(c, s.labels) : 0;
		if (s.time_ns)
			s.time_ns += (uint64_t)c->opts->time_shift_ns;
		c->sink->sample(c->sink, &s);
	}
	return nr_left_out;
}

/* Events with the same name share a column, whatever column they have in each profile. */
static void copy_events(struct copier *c)
{
	for (unsigned int i = 0; i < NR_COLUMNS; i++)
		c->columns[i] = (uint8_t)i;
	for (unsigned int i = COLUMN_EVENT_1; i <= COLUMN_EVENT_8; i++) {
		const struct fact_event *e = column_event(c->from, i), *there;
		struct fact_event row;

		if (!e)
			continue;
		c->columns[i] = column_for_event(c->opts->vocabulary,
						 profile_str(c->from, (uint32_t)e->name));
		if (c->columns[i] == NR_COLUMNS)
			continue;
		there = column_event(c->opts->vocabulary, c->columns[i]);
		row = (struct fact_event){
			.column = c->columns[i],
			.name = copy_string(c, (uint32_t)e->name),
			.period = there && there->period != e->period ? 0 : e->period,
		};
		c->sink->fact(c->sink, FACT_EVENT, &row);
	}
}

static uint64_t copy_field(struct copier *c, char field, uint64_t value)
{
	switch ((enum fact_field)field) {
	case FIELD_STRING: return copy_string(c, (uint32_t)value);
	case FIELD_THREAD: return copy_thread(c, (uint32_t)value);
	case FIELD_STACK:
		return (uint32_t)value == PROFILE_NONE ? PROFILE_NONE
						       : copy_stack(c, (uint32_t)value);
	case FIELD_PID: return profile_copy_pid(c->opts->pids, value);
	case FIELD_TIME: return value ? value + (uint64_t)c->opts->time_shift_ns : 0;
	case FIELD_SIGNED:
	case FIELD_NUMBER: break;
	}
	return value;
}

/* Rows of system calls are added to those that the sink's profile has. */
static void add_calls(const struct copier *c, enum fact_kind kind, uint64_t *row)
{
	const void *before = facts_find(c->opts->vocabulary, kind, row);

	if (before)
		facts_add_calls(kind, row, before);
}

static bool is_copied(int kind, const struct fact_info *info)
{
	return kind == FACT_SYSTEM_CALL || kind == FACT_CALL_TIMES ||
	       (info && info->fields[0] == FIELD_PID && kind != FACT_PROCESS);
}

/*
 * Copies facts of kinds whose rows name a process, and of system calls. A rank gets the host that
 * it ran on.
 */
static void copy_facts(struct copier *c)
{
	for (int kind = 0; kind < NR_FACT_KINDS; kind++) {
		const struct fact_info *info = fact_info((uint64_t)kind);
		const uint64_t *rows;
		size_t nr;

		if (!is_copied(kind, info))
			continue;
		rows = facts_rows(c->from, (enum fact_kind)kind, &nr);
		for (size_t i = 0; i < nr; i++, rows += info->nr_fields) {
			uint64_t row[FACT_MAX_FIELDS];

			for (uint32_t k = 0; k < info->nr_fields; k++)
				row[k] = copy_field(c, info->fields[k], rows[k]);
			if (kind == FACT_RANK && !((const struct fact_rank *)rows)->host)
				((struct fact_rank *)row)->host =
					copy_string(c, c->from->meta.hostname);
			if (kind == FACT_SYSTEM_CALL || kind == FACT_CALL_TIMES)
				add_calls(c, (enum fact_kind)kind, row);
			c->sink->fact(c->sink, (enum fact_kind)kind, row);
		}
	}
}

/* Names go into the vocabulary, not through the sink: a recording writes them with its symbols. */
static uint32_t copy_name(struct copier *c, uint32_t id)
{
	return profile_cstring(c->opts->vocabulary, profile_str(c->from, id));
}

static uint32_t copy_function(struct copier *c, uint32_t id)
{
	struct profile_function f = c->from->functions[id];

	if (c->functions[id] == PROFILE_NONE) {
		f.name = copy_name(c, f.name);
		f.system_name = copy_name(c, f.system_name);
		f.file = copy_name(c, f.file);
		if (f.module != PROFILE_NONE)
			f.module = c->modules[f.module];
		c->functions[id] = profile_function(c->opts->vocabulary, &f);
	}
	return c->functions[id];
}

/*
 * Copies locations of the copied frames; a frame that has names from an earlier profile keeps them.
 */
static void copy_locations(struct copier *c)
{
	const struct profile *p = c->from;
	struct profile *v = c->opts->vocabulary;

	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];
		struct profile_location *l;

		if (c->frames[i] == PROFILE_NONE || !f->nr_locations ||
		    v->frames[c->frames[i]].nr_locations)
			continue;
		l = xcalloc(f->nr_locations, sizeof(*l));
		for (uint32_t j = 0; j < f->nr_locations; j++) {
			l[j] = p->locations[f->first_location + j];
			l[j].function = copy_function(c, l[j].function);
		}
		profile_set_locations(v, c->frames[i], l, f->nr_locations);
		free(l);
	}
}

/* Copies modules that only functions refer to, so that copy_function() finds them. */
static void copy_function_modules(struct copier *c)
{
	const struct profile *p = c->from;

	for (size_t i = 0; i < p->nr_functions; i++)
		if (p->functions[i].module != PROFILE_NONE)
			copy_module(c, p->functions[i].module);
}

static uint32_t *unknown_ids(size_t nr)
{
	uint32_t *ids = xcalloc(nr + 1, sizeof(*ids));

	memset(ids, 0xff, (nr + 1) * sizeof(*ids)); /* PROFILE_NONE */
	return ids;
}

/* Makes the root frame of the origin, as FUNCTION_THREAD, which root frames of threads are too. */
static uint32_t origin_frame(struct copier *c, const char *origin)
{
	struct profile_module m = { .kind = MODULE_NAMED, .function_kind = FUNCTION_THREAD };
	uint32_t name = sink_cstring(c->sink, origin), frame;
	struct profile *v = c->opts->vocabulary;
	struct profile_function f = { .module = PROFILE_NONE, .kind = FUNCTION_THREAD };
	struct profile_location l;

	frame = c->sink->frame(c->sink, c->sink->module(c->sink, &m), name);
	f.name = f.system_name = profile_cstring(v, origin);
	l = (struct profile_location){ .function = profile_function(v, &f) };
	profile_set_locations(v, frame, &l, 1);
	return frame;
}

static uint32_t max_depth(const struct profile *p)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < p->nr_stacks; i++)
		if (p->stacks[i].nr_frames > depth)
			depth = p->stacks[i].nr_frames;
	return depth;
}

uint64_t profile_copy(const struct profile *from, const struct profile_copy_opts *opts)
{
	struct copier c = {
		.from = from,
		.opts = opts,
		.sink = opts->sink,
		.strings = unknown_ids(from->nr_strings),
		.modules = unknown_ids(from->nr_modules),
		.threads = unknown_ids(from->nr_threads),
		.frames = unknown_ids(from->nr_frames),
		.stacks = unknown_ids(from->nr_stacks),
		.functions = unknown_ids(from->nr_functions),
		.path = xcalloc((size_t)max_depth(from) + 2, sizeof(*c.path)),
		.root = PROFILE_NONE,
	};

	uint64_t nr_left_out;

	if (opts->origin)
		c.root = origin_frame(&c, opts->origin);
	copy_events(&c);
	nr_left_out = copy_samples(&c);
	copy_facts(&c);
	copy_function_modules(&c);
	copy_locations(&c);
	free(c.strings);
	free(c.modules);
	free(c.threads);
	free(c.frames);
	free(c.stacks);
	free(c.functions);
	free(c.path);
	return nr_left_out;
}
