/*
 * Reads the files of Java Flight Recorder (version 2, JDK 9 on; async-profiler writes them too):
 * samples of running Java code, or of native code, and of allocations. The file is read twice:
 * first it is counted which events there are, then those that are shown become samples.
 *
 * How many allocations a sample stands for is not known: each counts as one.
 *
 * What it does not take: the other events (locks, waits, collections, settings), the classes of
 * allocated objects, and how a method ran (interpreted, compiled, inlined).
 */
#include "output/import/importer.h"

#include <errno.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/event_name.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/java/jfr_chunk.h"
#include "output/import/java/jfr_stacks.h"
#include "output/tree/tree.h"

struct reader {
	struct profile *p;
	const char *name;
	struct buffer data;
	uint64_t nr_events[NR_JFR_WORDS];
	enum jfr_word event, allocation; /* which are shown; JFR_OTHER: none */
	uint64_t totals[NR_COLUMNS];
	uint64_t steps_left; /* values that may still be read from all chunks together */
	bool cut_off;
	const char *problem; /* NULL: there is none */
};

static void count_events(struct reader *r, struct jfr_chunk *k)
{
	struct cursor events = jfr_events(k);
	struct jfr_event e;

	while (jfr_next_event(k, &events, &e))
		r->nr_events[e.class->word]++;
	if (events.bad && !k->cut_off)
		r->problem = "it is a damaged JFR file";
}

static void add_sample(struct reader *r, struct profile_sample *s, uint64_t weight,
		       enum profile_column column)
{
	if (weight >= TREE_MAX_TOTAL - r->totals[column]) {
		r->problem = "its sum is too large";
		return;
	}
	r->totals[column] += weight;
	s->weight = weight;
	s->column = (uint8_t)column;
	if (weight)
		profile_add_sample(r->p, s);
}

static void read_sample(struct reader *r, struct jfr_stacks *stacks, struct jfr_event *e)
{
	struct jfr_want start = { .word = JFR_START_TIME };
	struct jfr_want wants[] = { start,
				    { .word = JFR_EVENT_THREAD },
				    { .word = JFR_SAMPLED_THREAD },
				    { .word = JFR_STACK_TRACE_FIELD },
				    { .word = JFR_WEIGHT },
				    { .word = JFR_TLAB_SIZE },
				    { .word = JFR_ALLOCATION_SIZE } };
	const struct jfr_want *thread = &wants[1], *size = &wants[4];
	struct profile_sample s = { 0 };

	jfr_read(&stacks->chunk->types, &e->body, e->class, wants, 7);
	if (e->body.bad) {
		r->problem = "it is a damaged JFR file";
		return;
	}
	if (e->class->word == r->event)
		thread = &wants[2];
	else if (e->class->word == JFR_ALLOCATION_NEW_TLAB)
		size = &wants[5];
	else if (e->class->word == JFR_ALLOCATION_OUTSIDE_TLAB)
		size = &wants[6];
	s.time_ns = jfr_time_ns(stacks->chunk, wants[0].number);
	s.thread = thread->found ? jfr_thread(stacks, thread->number) : PROFILE_NONE;
	s.stack = jfr_stack(stacks, wants[3].number);
	if (e->class->word == r->event) {
		add_sample(r, &s, 1, COLUMN_COUNT);
		return;
	}
	add_sample(r, &s, size->number, COLUMN_ALLOCATED);
	add_sample(r, &s, 1, COLUMN_ALLOCATIONS);
}

static void read_process(struct reader *r, struct jfr_stacks *stacks, struct jfr_event *e)
{
	struct jfr_want wants[] = { { .word = JFR_PID }, { .word = JFR_JAVA_ARGUMENTS } };

	jfr_read(&stacks->chunk->types, &e->body, e->class, wants, 2);
	if (e->body.bad)
		return;
	stacks->pid = (uint32_t)wants[0].number;
	stacks->text.size = 0;
	jfr_add_text(stacks->chunk, &wants[1], &stacks->text);
	if (stacks->text.size)
		r->p->meta.command = profile_cstring(r->p, buffer_cstring(&stacks->text));
}

static bool is_shown(const struct reader *r, enum jfr_word word)
{
	if (word == JFR_ALLOCATION_NEW_TLAB || word == JFR_ALLOCATION_OUTSIDE_TLAB)
		return r->allocation == JFR_ALLOCATION_NEW_TLAB;
	return word && (word == r->event || word == r->allocation);
}

/* Passes over the events of one class; the process comes first, as threads belong to it. */
static void read_events(struct reader *r, struct jfr_stacks *stacks, bool process)
{
	struct cursor events = jfr_events(stacks->chunk);
	struct jfr_event e;

	while (!r->problem && jfr_next_event(stacks->chunk, &events, &e)) {
		if (process && e.class->word == JFR_JVM_INFORMATION)
			read_process(r, stacks, &e);
		else if (!process && is_shown(r, e.class->word))
			read_sample(r, stacks, &e);
	}
}

static void read_chunk(struct reader *r, struct jfr_chunk *k)
{
	struct jfr_stacks stacks = { .chunk = k, .p = r->p };
	struct profile_meta *m = &r->p->meta;
	uint64_t end = k->start_ns + k->duration_ns;

	if (!k->ticks_per_s || jfr_chunk_read_constants(k)) {
		r->problem = "it is a damaged JFR file";
		return;
	}
	if (!m->start_ns)
		m->start_ns = m->start_realtime_ns = k->start_ns;
	m->end_ns = end > m->end_ns ? end : m->end_ns;
	read_events(r, &stacks, true);
	read_events(r, &stacks, false);
	r->steps_left = k->types.steps_left;
	if (!r->steps_left)
		r->problem = "it is a damaged JFR file";
	jfr_stacks_fini(&stacks);
}

/* Calls the function for each chunk of the file. */
static void read_chunks(struct reader *r, void (*read)(struct reader *, struct jfr_chunk *))
{
	size_t at = 0;

	while (at < r->data.size && !r->problem) {
		struct jfr_chunk k;
		int err = jfr_chunk_init(&k, (const uint8_t *)r->data.data + at, r->data.size - at,
					 r->steps_left);

		/* A JVM that was killed leaves a last chunk without its end. */
		r->cut_off |= k.cut_off || (err && at);
		if (err == -ENOTSUP)
			r->problem = "it is a JFR file of a version that sprof does not read";
		else if (err && !at)
			r->problem = "it is a damaged JFR file, or one that was never finished";
		else if (!err)
			read(r, &k);
		at = err ? r->data.size : at + k.size;
		jfr_chunk_fini(&k);
	}
}

/* The event to show: the one that was asked for, else Java code rather than native code. */
static int choose_events(struct reader *r, const char *want)
{
	static const enum jfr_word events[] = { JFR_EXECUTION_SAMPLE, JFR_NATIVE_SAMPLE };
	uint64_t left_out = r->nr_events[JFR_EXECUTION_SAMPLE] + r->nr_events[JFR_NATIVE_SAMPLE];

	for (size_t i = 0; i < 2 && !r->event; i++)
		if (want ? event_name_is(jfr_word_name(events[i]), want) : r->nr_events[events[i]])
			r->event = events[i];
	if (want && (!r->event || !r->nr_events[r->event])) {
		log_error(0, "show event %s of '%s': it holds %llu of %s and %llu of %s", want,
			  r->name, (unsigned long long)r->nr_events[events[0]],
			  jfr_word_name(events[0]), (unsigned long long)r->nr_events[events[1]],
			  jfr_word_name(events[1]));
		return -ENODATA;
	}
	/* Several kinds of events may report one allocation: only one kind is read. */
	if (r->nr_events[JFR_ALLOCATION_SAMPLE])
		r->allocation = JFR_ALLOCATION_SAMPLE;
	else if (r->nr_events[JFR_ALLOCATION_NEW_TLAB] || r->nr_events[JFR_ALLOCATION_OUTSIDE_TLAB])
		r->allocation = JFR_ALLOCATION_NEW_TLAB;
	if (!r->event && !r->allocation) {
		log_error(0, "read '%s': it holds no samples of Java code or allocations (JFR)",
			  r->name);
		return -EINVAL;
	}
	if (r->event)
		r->p->meta.event = profile_cstring(r->p, jfr_word_name(r->event));
	left_out -= r->nr_events[r->event];
	if (left_out)
		log_warning("'%s': samples left out because their event is not %s: %llu "
			    "(--event NAME chooses another)",
			    r->name, jfr_word_name(r->event), (unsigned long long)left_out);
	return 0;
}

static int read_file(struct reader *r, const struct import_opts *opts)
{
	int err = 0;

	r->steps_left = 1000000 + 16 * (uint64_t)r->data.size;
	read_chunks(r, count_events);
	if (!r->problem)
		err = choose_events(r, opts->event);
	if (!r->problem && !err)
		read_chunks(r, read_chunk);
	if (!r->problem && !err && !r->p->nr_samples)
		r->problem = "it is a damaged JFR file";
	if (r->problem) {
		log_error(0, "read '%s': %s", r->name, r->problem);
		return -EINVAL;
	}
	if (!err && r->cut_off)
		log_warning("'%s' is cut off: its last events are missing", r->name);
	return err;
}

static int jfr_read_file(FILE *f, const char *name, const struct import_opts *opts,
			 struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name };
	int err = import_read_all(f, name, &r.data);

	if (!err)
		err = read_file(&r, opts);
	if (!err)
		import_describe(r.p, name, "JFR");
	buffer_fini(&r.data);
	return import_end(r.p, err, ret_profile);
}

static bool jfr_is(const char *data, size_t size)
{
	return size >= 8 && !memcmp(data, "FLR\0", 4);
}

const struct importer import_jfr = {
	.name = "JFR",
	.is = jfr_is,
	.read = jfr_read_file,
};
