/*
 * The sink interns strings and modules by content, at the cost of hashing them. So the sink's ids
 * of threads are cached here and those of modules in the mapped files; each new stack interns only
 * its frames and itself.
 */
#include "sampler/sink/sample_sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/portable/frames.h"
#include "core/portable/pycode.h"
#include "core/profile/markers.h"
#include "sampler/sink/process_facts.h"
#include "sampler/sink/repeats.h"
#include "sampler/target/process.h"
#include "sampler/runtimes/python/code_objects.h"

#define MAX_THREAD_NAMES 65536

/* A thread's name as last seen. */
struct thread_name {
	uint32_t tid, pid;
	uint32_t sink_id;
	char comm[COMM_SIZE];
	bool has_ended;
	UT_hash_handle hh;
};

void sample_sink_init(struct sample_sink *out, struct profile_stats *stats)
{
	*out = (struct sample_sink){
		.stats = stats,
		.kernel_module = PROFILE_NONE,
		.marker_module = PROFILE_NONE,
		.wait_module = PROFILE_NONE,
	};
}

static struct thread_name *find_thread(const struct sample_sink *out, uint32_t tid)
{
	struct thread_name *t;

	HASH_FIND_INT(out->threads, &tid, t);
	return t;
}

static void forget_thread(struct sample_sink *out, struct thread_name *t)
{
	HASH_DEL(out->threads, t);
	free(t);
}

static void forget_threads(struct sample_sink *out)
{
	struct thread_name *t, *next;

	HASH_ITER (hh, out->threads, t, next)
		forget_thread(out, t);
}

void sample_sink_fini(struct sample_sink *out)
{
	forget_threads(out);
	process_facts_free(out->processes);
}

void sample_sink_forget(struct sample_sink *out)
{
	forget_threads(out);
	out->kernel_module = out->marker_module = out->wait_module = PROFILE_NONE;
	if (out->processes)
		process_facts_forget(out->processes);
	if (out->python_codes)
		python_codes_forget_ids(out->python_codes);
}

void sample_sink_keep_processes(struct sample_sink *out)
{
	out->processes = process_facts_new();
}

void sample_sink_forked(struct sample_sink *out, pid_t parent, pid_t child)
{
	if (out->processes)
		process_facts_forked(out->processes, parent, child);
}

void sample_sink_ended(struct sample_sink *out, pid_t tid)
{
	uint32_t *at = &out->ended[out->next_ended], before = *at;
	struct thread_name *t = find_thread(out, before);

	if (t && t->has_ended)
		forget_thread(out, t);
	t = find_thread(out, (uint32_t)tid);
	if (t)
		t->has_ended = true;
	if (out->processes) {
		process_facts_forget_ended(out->processes, (pid_t)before);
		process_facts_ended(out->processes, tid);
	}
	*at = (uint32_t)tid;
	out->next_ended = (out->next_ended + 1) % SINK_MAX_ENDED;
}

void sample_sink_end(struct sample_sink *out)
{
	if (out->processes)
		process_facts_end(out->processes, out->sink);
}

uint32_t sample_sink_module(struct sample_sink *out, struct mapped_file *file)
{
	struct profile_module m = {
		.path = sink_cstring(out->sink, file->path),
		.pid = file->kind == MODULE_JIT ? (uint32_t)file->pid : 0,
		.kind = file->kind,
		.build_id_size = file->build_id_size,
		.dev = file->kind == MODULE_ELF ? file->dev : 0,
		.ino = file->kind == MODULE_ELF ? file->ino : 0,
	};

	if (file->sink_id == PROFILE_NONE) {
		memcpy(m.build_id, file->build_id, sizeof(m.build_id));
		file->sink_id = out->sink->module(out->sink, &m);
	}
	if (file->nr_derived_functions) {
		const struct fact_derived_rules row = { m.path, file->nr_derived_functions };

		out->sink->fact(out->sink, FACT_DERIVED_RULES, &row);
		file->nr_derived_functions = 0;
	}
	return file->sink_id;
}

static uint32_t special_module(struct sample_sink *out, uint32_t *id, enum module_kind kind,
			       const char *path)
{
	if (*id == PROFILE_NONE)
		*id = out->sink->module(out->sink, &(struct profile_module){
							   .kind = kind,
							   .path = sink_cstring(out->sink, path),
						   });
	return *id;
}

/* A frame of the module of markers. */
static uint32_t address_frame(struct sample_sink *out, uint64_t address)
{
	return out->sink->frame(out->sink,
				special_module(out, &out->marker_module, MODULE_MARKER, "[marker]"),
				address);
}

static uint32_t marker_frame(struct sample_sink *out, enum marker marker)
{
	return address_frame(out, marker);
}

static uint32_t kernel_frame(struct sample_sink *out, uint64_t address)
{
	return out->sink->frame(out->sink,
				special_module(out, &out->kernel_module, MODULE_KERNEL, "[kernel]"),
				address);
}

uint32_t sample_sink_wait_frame(struct sample_sink *out, const char *name)
{
	if (out->wait_module == PROFILE_NONE)
		out->wait_module = out->sink->module(
			out->sink, &(struct profile_module){
					   .kind = MODULE_NAMED,
					   .function_kind = FUNCTION_WAIT,
					   .path = sink_cstring(out->sink, "[wait]"),
				   });
	return out->sink->frame(out->sink, out->wait_module, sink_cstring(out->sink, name));
}

/* The sink frame of a walker's word (core/portable/frames.h); PROFILE_NONE: in no mapping. */
static uint32_t user_frame(struct sample_sink *out, const struct process *p, uint64_t frame)
{
	uint64_t pc = frame & ~FRAME_EXACT, address = frame & FRAME_EXACT ? pc : pc - 1;
	const struct mapping *m;

	if (FRAME_IS_PYTHON(frame))
		return out->python_codes ? python_codes_frame(out->python_codes, out->sink, frame)
					 : PROFILE_NONE;
	m = p ? process_find(p, address) : NULL;
	if (!m)
		return PROFILE_NONE;
	if (m->code->over_limit)
		return marker_frame(out, MARKER_OVER_LIMIT);
	if (m->code->kind != MODULE_JIT)
		address = address - m->start + m->pgoff;
	return out->sink->frame(out->sink, sample_sink_module(out, m->code), address);
}

/* A walk that found no rule in a file of which no rule could be read says so. */
static enum marker marker_of(const struct process *p, const struct walked *w)
{
	uint64_t last = w->nr_user && !w->gap ? w->user[w->nr_user - 1] : 0;
	const struct mapping *m;

	if (w->marker != MARKER_NO_RULE || !p || !last || FRAME_IS_PYTHON(last))
		return (enum marker)w->marker;
	m = process_find(p, last & FRAME_EXACT ? last & ~FRAME_EXACT : last - 1);
	return m && m->code->parser_failed ? MARKER_PARSER_FAILED : MARKER_NO_RULE;
}

/* A stack that is being written, root first. */
struct writer {
	struct sample_sink *out;
	const struct process *p;
	const struct walked *w;
	bool deep; /* repeated frames are counted */
	struct known_stack known;
	size_t nr;
	uint32_t
		*frames; /* SINK_MAX_FRAMES: two markers at the root, three in the middle, a wait */
};

static void add_marker(struct writer *s, enum marker marker)
{
	s->frames[s->nr++] = marker_frame(s->out, marker);
	s->known.incomplete = (uint8_t)(marker + 1);
}

static void add_user_frame(struct writer *s, uint64_t word)
{
	uint32_t frame = user_frame(s->out, s->p, word);

	if (frame == PROFILE_NONE) {
		/* The marker already says that the walk ended at an unknown address. */
		if (s->nr == 1 &&
		    (s->w->marker == MARKER_UNKNOWN || s->w->marker == MARKER_NO_TABLE))
			return;
		frame = marker_frame(s->out,
				     FRAME_IS_PYTHON(word) ? MARKER_PYTHON : MARKER_UNKNOWN);
	}
	if (s->nr == 1 && s->w->marker == MARKER_OVER_LIMIT && frame == s->frames[0])
		return; /* the same here */
	s->frames[s->nr++] = frame;
}

/* Adds frames between which none are missing; words[] is root first. */
static void add_part(struct writer *s, const uint64_t *words, size_t nr)
{
	size_t at = 0;

	while (at < nr) {
		struct repeat r = { .start = nr };

		if (s->deep)
			r = repeats_next(words, nr, at);
		for (; at < r.start + r.nr_frames; at++)
			add_user_frame(s, words[at]);
		if (!r.nr_more)
			continue;
		s->frames[s->nr++] = address_frame(s->out, repeat_marker(r.nr_frames, r.nr_more));
		at += (size_t)r.nr_more * r.nr_frames;
	}
}

/* Adds user[from ... to). */
static void add_reversed(struct writer *s, size_t from, size_t to)
{
	uint64_t words[MAX_USER_FRAMES];
	size_t nr = 0;

	while (to > from)
		words[nr++] = s->w->user[--to];
	add_part(s, words, nr);
}

/* The same of the ring that begins at the gap. */
static void add_ring(struct writer *s)
{
	const struct walked *w = s->w;
	uint64_t words[MAX_USER_FRAMES];
	size_t nr = 0, size = w->nr_user - w->gap;

	for (size_t i = size; i-- > 0;)
		words[nr++] = w->user[w->gap + (i + w->rotation) % size];
	add_part(s, words, nr);
}

static void add_user_part(struct writer *s)
{
	const struct walked *w = s->w;

	if (w->nr_joined) {
		add_reversed(s, w->nr_user, w->nr_user + w->nr_joined);
		add_marker(s, (enum marker)w->marker);
	}
	if (w->gap) {
		add_ring(s);
		s->frames[s->nr++] = marker_frame(s->out, MARKER_TOO_DEEP);
		if (!s->known.incomplete)
			s->known.incomplete = MARKER_TOO_DEEP + 1;
		add_reversed(s, 0, w->gap);
	} else {
		add_reversed(s, 0, w->nr_user);
	}
}

size_t sample_sink_frames(struct sample_sink *out, const struct process *p, const struct walked *w,
			  uint32_t *frames, uint8_t *ret_incomplete)
{
	struct writer s = {
		.out = out,
		.p = p,
		.w = w,
		.deep = w->nr_user > REPEATS_MIN_DEPTH,
		.frames = frames,
	};

	if (w->python_broken)
		add_marker(&s, MARKER_PYTHON);
	if (w->marker >= 0 && !w->nr_joined)
		add_marker(&s, marker_of(p, w));
	add_user_part(&s);
	if (w->in_kernel && !w->nr_kernel)
		s.frames[s.nr++] = marker_frame(out, MARKER_NO_KERNEL_STACK);
	for (size_t i = w->nr_kernel; i-- > 0;)
		s.frames[s.nr++] = kernel_frame(out, w->kernel[i] - (i || w->wait ? 1 : 0));
	if (w->wait)
		s.frames[s.nr++] = sample_sink_wait_frame(out, w->wait);
	*ret_incomplete = s.known.incomplete;
	return s.nr;
}

struct known_stack sample_sink_stack(struct sample_sink *out, const struct process *p,
				     const struct walked *w)
{
	uint32_t frames[SINK_MAX_FRAMES];
	struct known_stack known = { 0 };
	size_t nr = sample_sink_frames(out, p, w, frames, &known.incomplete);

	known.stack = out->sink->stack(out->sink, frames, nr);
	return known;
}

uint32_t sample_sink_thread(struct sample_sink *out, uint32_t pid, uint32_t tid, const char *name)
{
	struct thread_name *t = find_thread(out, tid);
	char comm[COMM_SIZE + 1];

	if (t && t->pid == pid && !memcmp(t->comm, name, COMM_SIZE))
		return t->sink_id;
	if (out->processes)
		process_facts_sampled(out->processes, out->sink, (pid_t)pid);
	if (!t) {
		if (HASH_COUNT(out->threads) >= MAX_THREAD_NAMES)
			forget_threads(out);
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		HASH_ADD_INT(out->threads, tid, t);
	}
	t->has_ended = t->has_ended && t->pid == pid;
	t->pid = pid;
	memcpy(t->comm, name, COMM_SIZE);
	memcpy(comm, name, COMM_SIZE);
	comm[COMM_SIZE] = '\0';
	t->sink_id = out->sink->thread(out->sink, t->pid, t->tid, sink_cstring(out->sink, comm));
	return t->sink_id;
}

uint32_t sample_sink_known_thread(const struct sample_sink *out, uint32_t pid, uint32_t tid)
{
	const struct thread_name *t = find_thread(out, tid);

	return t && t->pid == pid ? t->sink_id : PROFILE_NONE;
}

void sample_sink_sample(struct sample_sink *out, const struct profile_sample *sample,
			struct known_stack stack)
{
	if (out->sink->wants && !out->sink->wants(out->sink, sample))
		return;
	if (out->processes)
		process_facts_poll(out->processes, out->sink);
	out->stats->nr_samples++;
	if (stack.incomplete)
		out->stats->nr_incomplete[stack.incomplete - 1]++;
	out->sink->sample(out->sink, sample);
}

/* The label is spelled as labels_add() does; a number without a unit. */
void sample_sink_latency(struct sample_sink *out, const struct profile_sample *sample,
			 uint32_t running)
{
	struct profile_sample s = *sample;
	char label[32];
	int length = snprintf(label, sizeof(label), "parallelism=%u\t", running);

	if (out->sink->wants && !out->sink->wants(out->sink, sample))
		return;
	s.column = COLUMN_LATENCY;
	s.weight = (s.weight + running / 2) / running;
	s.labels = out->sink->string(out->sink, label, (size_t)length);
	out->sink->sample(out->sink, &s);
}
