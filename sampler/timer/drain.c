/*
 * Samples of different rings are put in order of time (time_order). A sample carries its stack,
 * walked in the target, or a snapshot of the stack's bytes, which is unwound here. Equal walked
 * stacks are resolved once: stack_ids remembers what the sink called them.
 */
#include "sampler/timer/drain.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/markers.h"
#include "sampler/sink/limits.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/sink/stack_ids.h"
#include "sampler/sink/time_order.h"
#include "sampler/timer/interrupted.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/walk/walk_arena.h"

#define SNAPSHOT_WORDS (sizeof(struct agent_snapshot) / 8)

struct timer_drain {
	struct timer_processes *processes;
	struct profile_stats *stats; /* the source's */
	uint64_t start_ns;	     /* older samples do not count; 0: none does yet */
	uint64_t deep_until_ns;	     /* until then, stacks that take much of a ring may come */
	struct time_order *queue;
	struct stack_ids *ids;
	struct interrupted *interrupted;  /* NULL: only threads that run are sampled */
	const struct sandbox *sandbox;	  /* of the unwinder */
	struct source_unwinder *unwinder; /* made at the first snapshot */
	const struct process *unwinding;  /* whose snapshot is being unwound, */
	uint64_t unwinding_ns;		  /* and the time of that */
	uint64_t *
		/* to merge a stack in; made at the first snapshot with Python frames */
		python_room;
	struct sample_sink out;
};

/* A ring holds 64 stacks of this size. */
#define DEEP_WORDS (REGION_RING_WORDS / 64)
#define DEEP_NS (10ull * 1000 * 1000 * 1000)  /* after such a stack */
#define DEEP_FIRST_NS (1000ull * 1000 * 1000) /* and after the start */

struct queued {
	struct timer_process *process;
	struct agent_sample sample;
	size_t nr_words;
	uint64_t words[];
};

struct timer_drain *timer_drain_new(struct timer_processes *processes, struct profile_stats *stats,
				    const struct sandbox *sandbox)
{
	struct timer_drain *d = xcalloc(1, sizeof(*d));

	d->processes = processes;
	d->stats = stats;
	d->sandbox = sandbox;
	d->queue = time_order_new();
	d->ids = stack_ids_new();
	if (processes->config.clock == AGENT_CLOCK_WALL)
		d->interrupted = interrupted_new();
	sample_sink_init(&d->out, stats);
	sample_sink_keep_processes(&d->out);
	return d;
}

void timer_drain_free(struct timer_drain *d)
{
	if (!d)
		return;
	source_unwinder_free(d->unwinder);
	free(d->python_room);
	time_order_free(d->queue);
	stack_ids_free(d->ids);
	interrupted_free(d->interrupted);
	sample_sink_fini(&d->out);
	free(d);
}

void timer_drain_forget_file(void *context, const struct mapped_file *file)
{
	const struct timer_drain *d = context;

	if (d->unwinder)
		source_unwinder_forget(d->unwinder, file->index + 1ull);
}

void timer_drain_start(struct timer_drain *d)
{
	d->start_ns = monotonic_ns();
	d->deep_until_ns = d->start_ns + DEEP_FIRST_NS;
}

void timer_drain_finish(struct timer_drain *d)
{
	sample_sink_end(&d->out);
	if (d->interrupted)
		interrupted_report(d->interrupted);
}

void timer_drain_set_sink(struct timer_drain *d, struct sink *sink)
{
	d->out.sink = sink;
}

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct timer_drain *d = context;

	return snapshot_find_mapping(d->unwinding, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct timer_drain *d = context;

	return snapshot_open_module(d->processes->publish.files, module, ret);
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	const struct timer_drain *d = context;
	const struct timer_publish *t = &d->processes->publish;

	if (walk_arena_find_rule(t->arena, (uint32_t)module - 1, vaddr, ret))
		return true;
	snapshot_missed_table(t->files, t->builder, module);
	return false;
}

static bool find_runtime_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	const struct timer_drain *d = context;

	return runtime_unwind_rule(d->processes->publish.runtime, d->unwinding, address,
				   d->unwinding_ns, ret);
}

static struct snapshot_result unwind(struct timer_drain *d, const struct timer_process *p,
				     const struct queued *q, uint64_t *frames, size_t max)
{
	static const struct snapshot_ops ops = { .find_mapping = find_mapping,
						 .open_module = open_module,
						 .find_rule = find_rule,
						 .find_runtime_rule = find_runtime_rule };
	struct agent_snapshot snapshot;
	struct snapshot_sample sample;
	struct snapshot_result result;

	memcpy(&snapshot, q->words, sizeof(snapshot));
	sample = (struct snapshot_sample){
		.regs = {
			.pc = snapshot.pc,
			.sp = snapshot.gpr[WALK_REG_SP],
			.fp = snapshot.gpr[WALK_REG_FP],
			.exact = !q->sample.in_kernel,
			.leaf_regs = 1,
		},
		.stack = (const uint8_t *)(q->words + SNAPSHOT_WORDS + q->sample.nr_frames),
		.stack_start = snapshot.stack_start,
		.stack_size = snapshot.stack_size,
		.guess = !q->sample.nr_frames, /* Python frames go between known ones only */
		.space = (uint64_t)p->maps.pid << 32 | p->maps.epoch,
		.process = p->maps.pid,
		.user = p->maps.user,
	};
	memcpy(sample.regs.gpr, snapshot.gpr, sizeof(sample.regs.gpr));
	if (!d->unwinder)
		d->unwinder = source_unwinder_new(&ops, d, d->sandbox);
	d->unwinding = &p->maps;
	d->unwinding_ns = q->sample.time_ns;
	d->stats->nr_snapshots++;
	result = source_unwind(d->unwinder, &sample, frames, max);
	limits_set_guesses(d->processes->limits, source_unwinder_refused(d->unwinder));
	return result;
}

/* A hash of everything that a walked stack is made of. */
static uint64_t key_of(const struct queued *q, const struct interruption *what)
{
	uint64_t key = (uint64_t)q->process->maps.pid << 32 | q->process->maps.epoch;

	key ^= (uint64_t)(uintptr_t)q->process << 7;
	key = key * 0x9fb21c651e98df25ull ^ (uint64_t)q->sample.end << 8 ^ q->sample.in_kernel ^
	      (uint64_t)q->sample.python_broken << 1 ^ (uint64_t)q->sample.nr_total << 16;
	for (size_t i = 0; i < q->nr_words; i++) {
		key = (key ^ q->words[i]) * 0x9fb21c651e98df25ull;
		key ^= key >> 32;
	}
	if (what->reason)
		key ^= XXH3_64bits(what->object, strlen(what->object)) ^
		       (uint64_t)(uintptr_t)what->reason;
	return key ? key : 1;
}

/* Notes runtime code without rules, and cuts the stack where rules of it are outdated. */
static void check_runtime(struct timer_drain *d, const struct queued *q, struct walked *w)
{
	struct process *p = &q->process->maps;

	runtime_unwind_check(d->processes->publish.runtime, p, q->sample.time_ns, p->epoch, w);
}

/* Hands the stack to the sink, with what the thread waited for on top. */
static struct known_stack sink_stack(struct timer_drain *d, const struct queued *q,
				     struct walked *w, const struct interruption *what)
{
	uint32_t frames[SINK_MAX_FRAMES + 1];
	struct known_stack known = { 0 };
	size_t nr;

	w->wait = what->reason;
	if (what->reason) /* that says why it is in the kernel */
		w->in_kernel = false;
	nr = sample_sink_frames(&d->out, &q->process->maps, w, frames, &known.incomplete);
	if (what->object[0])
		frames[nr++] = sample_sink_wait_frame(&d->out, what->object);
	known.stack = d->out.sink->stack(d->out.sink, frames, nr);
	return known;
}

static struct known_stack walked_stack(struct timer_drain *d, const struct queued *q,
				       const struct interruption *what)
{
	const struct agent_sample *e = &q->sample;
	struct walked w = {
		.user = q->words,
		.nr_user = q->nr_words,
		.marker = walk_marker(e->end),
		.in_kernel = e->in_kernel,
		.python_broken = e->python_broken,
	};
	uint64_t key = key_of(q, what);
	struct known_stack known;

	if (stack_ids_find(d->ids, key, &known))
		return known;
	if (e->nr_total > e->nr_frames) {
		w.gap = MAX_LEAF_FRAMES;
		w.rotation = (e->nr_total - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
	}
	check_runtime(d, q, &w);
	known = sink_stack(d, q, &w, what);
	/*
	 * The record of a code object may still be in another ring: then the stack is resolved
	 * again.
	 */
	if (timer_python_knows(q->process, q->words, q->nr_words))
		stack_ids_add(d->ids, key, known);
	return known;
}

static uint64_t *python_room(struct timer_drain *d)
{
	if (!d->python_room)
		d->python_room = xmalloc(timer_python_room_words() * sizeof(uint64_t));
	return d->python_room;
}

static struct known_stack unwound_stack(struct timer_drain *d, const struct queued *q,
					const struct interruption *what)
{
	uint64_t frames[MAX_USER_FRAMES];
	struct walked w = {
		.user = frames,
		.in_kernel = q->sample.in_kernel,
		.python_broken = q->sample.python_broken,
	};
	size_t nr_python = q->sample.nr_frames;
	struct snapshot_result result =
		nr_python ? unwind(d, q->process, q, python_room(d), TIMER_MAX_NATIVE)
			  : unwind(d, q->process, q, frames, MAX_USER_FRAMES);

	snapshot_result_put(&result, &w);
	if (nr_python)
		timer_python_merge(q->process, d->python_room, result.sps,
				   q->words + SNAPSHOT_WORDS, nr_python, frames, &w);
	check_runtime(d, q, &w);
	return sink_stack(d, q, &w, what);
}

static void on_queued(void *context, int kind, const void *data, size_t size)
{
	struct timer_drain *d = context;
	const struct queued *q = data;
	const struct agent_sample *e = &q->sample;
	struct timer_process *p = q->process;
	struct profile_sample sample = {
		.time_ns = e->time_ns,
		.weight = e->weight_ns,
		.cpu = e->cpu,
		.column = COLUMN_CPU,
		.gil = e->gil < NR_GIL ? e->gil : GIL_UNKNOWN,
	};
	struct timer_thread *thread = timer_thread(p, e->tid);
	struct known_stack stack = { .stack = thread->last_stack };
	struct interruption what = { .column = COLUMN_CPU };

	(void)size;
	if (kind == AGENT_REST && stack.stack == PROFILE_NONE)
		return;
	if (e->end == END_NO_MAP || e->end == END_STALE)
		timer_reread(d->processes, p, e->time_ns);
	d->out.python_codes = p->python.codes;
	if (d->interrupted)
		interrupted_explain(d->interrupted, p->maps.pid, e, &what);
	sample.column = (uint8_t)what.column;
	if (kind == AGENT_REST)
		sample.gil = thread->last_gil;
	else
		stack = kind == AGENT_SNAPSHOT ? unwound_stack(d, q, &what)
					       : walked_stack(d, q, &what);
	sample.thread = sample_sink_thread(&d->out, (uint32_t)p->maps.pid, (uint32_t)thread->outer,
					   thread->comm);
	sample.stack = thread->last_stack = stack.stack;
	thread->last_gil = sample.gil;
	timer_missed_weigh(p, sample.weight);
	sample_sink_sample(&d->out, &sample, stack);
}

struct reading {
	struct timer_drain *drain;
	struct timer_process *process;
	uint64_t now_ns;
};

static void on_record(void *context, const struct agent_sample *sample, const uint64_t *words,
		      size_t nr_words)
{
	const struct reading *r = context;
	struct timer_drain *d = r->drain;
	uint64_t time = sample->time_ns;
	struct queued *q;

	if (nr_words > DEEP_WORDS)
		d->deep_until_ns = r->now_ns + DEEP_NS;
	/*
	 * Not in order of time: an older sample of another thread may name the code object already.
	 */
	if (sample->type == AGENT_CODE)
		timer_python_add_code(r->process, d->processes->code_reader, words, nr_words);
	if (!d->start_ns || time < d->start_ns || sample->type == AGENT_CODE)
		return;
	/* a target can write any time */
	if (time > r->now_ns)
		time = r->now_ns;
	q = time_order_add(d->queue, time, sample->type, sizeof(*q) + nr_words * sizeof(*words));
	*q = (struct queued){ .process = r->process, .sample = *sample, .nr_words = nr_words };
	q->sample.time_ns = time;
	memcpy(q->words, words, nr_words * sizeof(*words));
}

bool timer_drain_is_deep(const struct timer_drain *d)
{
	return monotonic_ns() < d->deep_until_ns;
}

void timer_drain_read(struct timer_drain *d, uint64_t before_ns)
{
	for (struct timer_process *p = d->processes->first; p; p = p->next) {
		struct reading r = { d, p, monotonic_ns() };

		timer_region_read(&p->region, on_record, &r);
	}
	time_order_take(d->queue, before_ns, on_queued, d);
}
