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
#include "sampler/sink/held_records.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/sink/stack_ids.h"
#include "sampler/sink/time_order.h"
#include "sampler/timer/interrupted.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/timer/timer_snapshots.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/walk/table_builder.h"

struct timer_drain {
	struct timer_processes *processes;
	struct profile_stats *stats; /* the source's */
	uint64_t start_ns;	     /* older samples do not count; 0: none does yet */
	uint64_t deep_until_ns;	     /* until then, stacks that take much of a ring may come */
	struct time_order *queue;
	struct held_records *held; /* snapshots whose unwind tables are being built */
	/* While those of a process that goes are handled; NULL: of all. */
	const struct timer_process *goes;
	bool ends_waiting;
	struct stack_ids *ids;
	struct interrupted *interrupted; /* NULL: only threads that run are sampled */
	struct timer_snapshots *snapshots;
	uint64_t *python_room; /* to merge a stack in; made when the first has Python frames */
	struct sample_sink out;
};

/* A ring holds 64 stacks of this size. */
#define DEEP_WORDS (REGION_RING_WORDS / 64)
#define DEEP_NS (10ull * 1000 * 1000 * 1000)  /* after such a stack */
#define DEEP_FIRST_NS (1000ull * 1000 * 1000) /* and after the start */

#define HELD_BYTES (64u << 20)		      /* of snapshots that wait for a table */
#define LAST_TABLES_NS (500ull * 1000 * 1000) /* at the end all tables are waited for so long */

struct queued {
	struct timer_process *process;
	struct agent_sample sample;
	size_t nr_words;
	uint64_t words[];
};

static void on_drop(void *context, const struct timer_process *p);

struct timer_drain *timer_drain_new(struct timer_processes *processes, struct profile_stats *stats,
				    const struct sandbox *sandbox)
{
	struct timer_drain *d = xcalloc(1, sizeof(*d));

	d->processes = processes;
	d->stats = stats;
	d->snapshots = timer_snapshots_new(processes, sandbox);
	d->queue = time_order_new();
	d->held = held_records_new(HELD_BYTES);
	processes->on_drop = on_drop;
	processes->context = d;
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
	timer_snapshots_free(d->snapshots);
	free(d->python_room);
	time_order_free(d->queue);
	held_records_free(d->held);
	stack_ids_free(d->ids);
	interrupted_free(d->interrupted);
	sample_sink_fini(&d->out);
	free(d);
}

void timer_drain_forget_file(void *context, const struct mapped_file *file)
{
	const struct timer_drain *d = context;

	timer_snapshots_forget(d->snapshots, file);
}

void timer_drain_start(struct timer_drain *d)
{
	d->start_ns = monotonic_ns();
	d->deep_until_ns = d->start_ns + DEEP_FIRST_NS;
}

void timer_drain_set_sink(struct timer_drain *d, struct sink *sink)
{
	d->out.sink = sink;
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

/* Returns the module whose table is being built, where the stack may wait for it, otherwise 0. */
static uint64_t unwound_stack(struct timer_drain *d, const struct queued *q,
			      const struct interruption *what, bool may_wait,
			      struct known_stack *ret)
{
	uint64_t frames[MAX_USER_FRAMES];
	struct walked w = {
		.user = frames,
		.in_kernel = q->sample.in_kernel,
		.python_broken = q->sample.python_broken,
	};
	size_t nr_python = q->sample.nr_frames;
	struct snapshot_result result =
		timer_snapshots_unwind(d->snapshots, &q->process->maps, &q->sample, q->words,
				       may_wait, nr_python ? python_room(d) : frames,
				       nr_python ? TIMER_MAX_NATIVE : MAX_USER_FRAMES);

	if (result.awaited)
		return result.awaited;
	d->stats->nr_snapshots++;
	snapshot_result_put(&result, &w);
	if (nr_python)
		timer_python_merge(q->process, d->python_room, result.sps,
				   q->words + TIMER_SNAPSHOT_WORDS, nr_python, frames, &w);
	check_runtime(d, q, &w);
	*ret = sink_stack(d, q, &w, what);
	return 0;
}

static size_t bytes_of(const struct queued *q)
{
	return sizeof(*q) + q->nr_words * sizeof(*q->words);
}

/* What a thread did in the kernel is read now, so such a sample cannot wait. */
static bool may_wait(const struct timer_drain *d, const struct queued *q)
{
	return !d->interrupted && !held_records_is_old(q->sample.time_ns) && !d->ends_waiting &&
	       held_records_has_room(d->held, q->process->maps.user, bytes_of(q));
}

static void hold(struct timer_drain *d, const struct queued *q, uint64_t awaited)
{
	const struct held_record r = {
		.time_ns = q->sample.time_ns,
		.awaited = awaited,
		.user = q->process->maps.user,
		.data = (void *)q,
		.size = bytes_of(q),
	};

	held_records_keep(d->held, &r);
}

/* The sample's stack; false: it waits for a table. */
static bool find_stack(struct timer_drain *d, const struct queued *q, struct timer_thread *thread,
		       const struct interruption *what, struct known_stack *stack)
{
	bool waits = may_wait(d, q);

	if (q->sample.type == AGENT_SNAPSHOT)
		thread->awaited = unwound_stack(d, q, what, waits, stack);
	else if (q->sample.type != AGENT_REST)
		thread->awaited = 0;
	/* The rest of a thread has the stack of its last sample, and waits with it. */
	if (thread->awaited && waits) {
		hold(d, q, thread->awaited);
		return false;
	}
	thread->awaited = 0;
	if (q->sample.type != AGENT_SNAPSHOT && q->sample.type != AGENT_REST)
		*stack = walked_stack(d, q, what);
	return stack->stack != PROFILE_NONE;
}

static void handle(struct timer_drain *d, const struct queued *q)
{
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

	if (e->end == END_NO_MAP || e->end == END_STALE)
		timer_reread(d->processes, p, e->time_ns);
	d->out.python_codes = p->python.codes;
	if (d->interrupted)
		interrupted_explain(d->interrupted, p->maps.pid, e, &what);
	sample.column = (uint8_t)what.column;
	if (!find_stack(d, q, thread, &what, &stack))
		return;
	if (e->type == AGENT_REST)
		sample.gil = thread->last_gil;
	sample.thread = sample_sink_thread(&d->out, (uint32_t)p->maps.pid, (uint32_t)thread->outer,
					   thread->comm);
	sample.stack = thread->last_stack = stack.stack;
	thread->last_gil = sample.gil;
	timer_missed_weigh(p, sample.weight);
	sample_sink_sample(&d->out, &sample, stack);
}

static void on_queued(void *context, int kind, const void *data, size_t size)
{
	(void)kind;
	(void)size;
	handle(context, data);
}

/* ---- snapshots that wait for a table */

static void on_held(void *context, const struct held_record *r)
{
	handle(context, r->data);
}

static bool is_ready(void *context, const struct held_record *r)
{
	const struct timer_drain *d = context;

	return held_records_is_old(r->time_ns) ||
	       !timer_snapshots_table_is_coming(d->snapshots, r->awaited);
}

static bool is_of_process(void *context, const struct held_record *r)
{
	const struct timer_drain *d = context;
	const struct queued *q = r->data;

	return !d->goes || q->process == d->goes;
}

/* They are handled without the tables. */
static void end_waiting(struct timer_drain *d, const struct timer_process *goes)
{
	static const struct held_records_ops ops = { is_of_process, on_held };

	d->goes = goes;
	d->ends_waiting = true;
	held_records_take(d->held, &ops, d);
	d->ends_waiting = false;
}

/* The queue is taken first: what comes from it may wait, too. */
static void on_drop(void *context, const struct timer_process *p)
{
	struct timer_drain *d = context;

	time_order_take(d->queue, UINT64_MAX, on_queued, d);
	end_waiting(d, p);
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

static void take_held(struct timer_drain *d)
{
	static const struct held_records_ops ops = { is_ready, on_held };

	held_records_take(d->held, &ops, d);
}

void timer_drain_read(struct timer_drain *d, uint64_t before_ns)
{
	for (struct timer_process *p = d->processes->first; p; p = p->next) {
		struct reading r = { d, p, monotonic_ns() };

		timer_region_read(&p->region, on_record, &r);
	}
	take_held(d);
	time_order_take(d->queue, before_ns, on_queued, d);
}

void timer_drain_finish(struct timer_drain *d)
{
	struct timer_publish *publish = &d->processes->publish;
	uint64_t until = monotonic_ns() + LAST_TABLES_NS;

	while (!held_records_is_empty(d->held) && table_builder_wait(publish->builder, until)) {
		timer_publish_poll(publish);
		take_held(d);
	}
	end_waiting(d, NULL);
	sample_sink_end(&d->out);
	if (d->interrupted)
		interrupted_report(d->interrupted);
}
