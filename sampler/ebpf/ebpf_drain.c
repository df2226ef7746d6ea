/*
 * Records wait in the queue until everything older has arrived. A sample names its stack by a key;
 * the stack itself is sent once, by the CPU that met it first, so a sample may wait a little longer
 * for the stack that another CPU sends.
 */
#include "sampler/ebpf/ebpf_drain.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/rights/memory_shares.h"
#include "core/profile/markers.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/ebpf_python.h"
#include "sampler/ebpf/ebpf_snapshot.h"
#include "sampler/ebpf/ebpf_targets.h"
#include "sampler/ebpf/ebpf_waits.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/ebpf/late_snapshots.h"
#include "sampler/ebpf/resync.h"
#include "sampler/ebpf/ring_record.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/code_reader.h"
#include "sampler/selection/process_user.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/sink/stack_ids.h"
#include "sampler/sink/time_order.h"
#include "sampler/target/sideband.h"
#include "sampler/waiting/last_python.h"
#include "sampler/waiting/syscalls_side.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/snapshot_lookup.h"

#define MAX_EARLY 65536
#define WAIT_NS (500ull * 1000 * 1000)
#define TABLES_NS (20ull * 1000 * 1000)
#define LAST_TABLES_NS (500ull * 1000 * 1000) /* the last round waits longer for them */

/* Kinds of records in the queue are enum event_type, and this one for records of the side band. */
#define KIND_SIDEBAND 100

struct queued_sideband {
	struct sideband_record record;
	char path[];
};

struct ebpf_drain {
	struct kernel_side *kernel;
	struct ebpf_targets *targets;
	struct ebpf_snapshots *snapshots;
	struct python_codes *python_codes;
	struct code_reader *code_reader;
	struct time_order *queue;
	struct stack_ids *stacks;
	struct ebpf_waits *waits;
	struct last_python *last_python;
	struct wait_event *early; /* samples whose stack has not come yet */
	size_t nr_early, early_capacity;
	struct late_snapshots *late;
	uint64_t tables_until_ns; /* snapshots of this round wait for tables until then */
	struct sample_sink out;
	struct profile_stats *stats;
};

static const struct late_snapshots_ops late_ops;

struct ebpf_drain *ebpf_drain_new(struct ebpf_targets *targets, struct ebpf_snapshots *snapshots,
				  struct profile_stats *stats, const struct sandbox *sandbox,
				  const struct memory_shares *memory)
{
	struct ebpf_drain *d = xcalloc(1, sizeof(*d));

	d->kernel = targets->kernel;
	d->targets = targets;
	d->snapshots = snapshots;
	d->stats = stats;
	d->queue = time_order_new();
	d->late = late_snapshots_new(memory ? memory->working / 8 : LATE_SNAPSHOTS_BYTES, &late_ops,
				     d);
	d->stacks = stack_ids_new();
	if (memory)
		stack_ids_set_memory(d->stacks, memory->working / 4);
	d->waits = ebpf_waits_new(targets->kernel, sandbox);
	sample_sink_init(&d->out, stats);
	sample_sink_keep_processes(&d->out);
	d->code_reader = code_reader_new(sandbox);
	d->python_codes = d->out.python_codes = python_codes_new(d->code_reader);
	d->last_python = last_python_new(d->python_codes);
	return d;
}

void ebpf_drain_free(struct ebpf_drain *d)
{
	if (!d)
		return;
	time_order_free(d->queue);
	late_snapshots_free(d->late);
	stack_ids_free(d->stacks);
	sample_sink_fini(&d->out);
	last_python_free(d->last_python);
	python_codes_free(d->python_codes);
	code_reader_free(d->code_reader);
	ebpf_waits_free(d->waits);
	free(d->early);
	free(d);
}

void ebpf_drain_begin(struct ebpf_drain *d, struct sink *sink, uint64_t unwind_until_ns)
{
	d->out.sink = sink;
	late_snapshots_begin(d->late, unwind_until_ns);
	d->tables_until_ns = monotonic_ns() + TABLES_NS;
}

/* The kernel sends a stack once: it has to send all of them again. */
void ebpf_drain_turn(struct ebpf_drain *d, bool forget)
{
	if (d->kernel->syscalls)
		syscalls_side_turn(d->kernel->syscalls);
	ebpf_waits_turn(d->waits, forget);
	if (!forget)
		return;
	kernel_side_forget_stacks(d->kernel);
	stack_ids_clear(d->stacks);
	sample_sink_forget(&d->out);
}

void ebpf_drain_tell_sums(struct ebpf_drain *d)
{
	if (d->kernel->syscalls)
		syscalls_side_tell(d->kernel->syscalls, d->out.sink);
	ebpf_waits_tell(d->waits, &d->out, true);
}

bool ebpf_drain_is_behind(const struct ebpf_drain *d)
{
	return late_snapshots_wait(d->late);
}

void ebpf_drain_end(struct ebpf_drain *d)
{
	if (d->kernel->syscalls)
		syscalls_side_poll(d->kernel->syscalls, d->out.sink);
	ebpf_waits_tell(d->waits, &d->out, false);
	d->out.sink = NULL;
}

static void keep_stack(struct ebpf_drain *d, const struct process *p, const struct stack_event *e,
		       struct walked *w)
{
	char name[32];
	bool kept;

	if (e->wait == CALL_STACK)
		w->wait = syscalls_side_call_name(e->call, name, sizeof(name));
	if (e->wait && e->wait != CALL_STACK)
		kept = ebpf_waits_keep(d->waits, &d->out, p, e->key, e->wait, w);
	else
		kept = stack_ids_add(d->stacks, e->key, sample_sink_stack(&d->out, p, w));
	if (!kept)
		kernel_side_forget_stacks(d->kernel);
}

static void on_stack(struct ebpf_drain *d, const struct stack_event *e)
{
	const uint64_t *frames = (const uint64_t *)(e + 1);
	struct process *p = ebpf_find_process(d->targets, (pid_t)e->header.tgid);
	struct walked w = {
		.kernel = frames,
		.user = frames + e->nr_kernel,
		.nr_kernel = e->nr_kernel,
		.nr_user = e->nr_user,
		.marker = walk_marker(e->end),
		.in_kernel = e->in_kernel,
		.python_broken = e->python_broken,
		.nr_joined = e->nr_joined,
	};

	if (e->end == END_NO_TABLE && p && ebpf_has_no_room(p))
		w.marker = MARKER_OVER_LIMIT;
	if (w.nr_joined)
		w.marker = MARKER_LEFT_OUT;
	if (e->nr_total > e->nr_user) {
		w.gap = MAX_LEAF_FRAMES;
		w.rotation = (e->nr_total - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
	}
	if (p && p->runtime.high) {
		runtime_unwind_check(d->targets->files->runtime, p, e->header.time_ns, e->epoch,
				     &w);
		ebpf_attend(d->targets, p);
	}
	keep_stack(d, p, e, &w);
}

/* Who is charged for what a process adds to tables that all users share. */
static uint32_t user_of(const struct ebpf_drain *d, uint32_t tgid)
{
	const struct process *p = ebpf_find_process(d->targets, (pid_t)tgid);

	return p ? p->user : USER_NOBODY;
}

static void sink_sample(struct ebpf_drain *d, const struct sample_event *e,
			enum profile_column column, uint64_t weight, struct known_stack known)
{
	const struct profile_sample sample = {
		.time_ns = e->header.time_ns,
		.weight = weight,
		.thread = sample_sink_thread(&d->out, e->header.tgid, e->tid, e->comm),
		.stack = known.stack,
		.cpu = e->header.cpu,
		.column = (uint8_t)column,
		.gil = e->gil < NR_GIL ? e->gil : GIL_UNKNOWN,
	};

	sample_sink_sample(&d->out, &sample, known);
	if (column == COLUMN_CPU && e->running)
		sample_sink_latency(&d->out, &sample, e->running);
}

/* The two parts of a wait have a stack and a column each; a part of no length is no sample. */
static void sink_parts(struct ebpf_drain *d, const struct sample_event *s, uint64_t runnable,
		       const struct wait_facts *facts, struct known_stack waiting,
		       struct known_stack ready)
{
	if (runnable > s->weight_ns)
		runnable = s->weight_ns;
	if (facts->lock && s->weight_ns > runnable)
		ebpf_waits_lock(d->waits, &d->out, user_of(d, s->header.tgid), s, facts,
				s->weight_ns - runnable);
	if (s->weight_ns > runnable)
		sink_sample(d, s, COLUMN_WAITING, s->weight_ns - runnable, waiting);
	if (runnable)
		sink_sample(d, s, COLUMN_RUNNABLE, runnable, ready);
}

static bool sink_wait(struct ebpf_drain *d, const struct wait_event *e)
{
	struct known_stack waiting, ready;

	if (!ebpf_waits_find(d->waits, &d->out, &e->sample, &e->facts, &waiting, &ready))
		return false;
	sink_parts(d, &e->sample, e->runnable_ns, &e->facts, waiting, ready);
	return true;
}

/* false: its stack has not come yet. */
static bool sink_if_known(struct ebpf_drain *d, const struct wait_event *e)
{
	struct known_stack known;

	if (e->sample.header.type == EVENT_WAIT)
		return sink_wait(d, e);
	if (!stack_ids_find(d->stacks, e->sample.key, &known))
		return false;
	sink_sample(d, &e->sample, ring_record_column(&e->sample), e->sample.weight_ns, known);
	return true;
}

static void on_sample(struct ebpf_drain *d, const struct wait_event *e)
{
	if (sink_if_known(d, e))
		return;
	/* Another CPU is still sending the stack. */
	if (d->nr_early == MAX_EARLY) {
		d->stats->nr_lost++;
		return;
	}
	d->early = xgrow(d->early, &d->early_capacity, d->nr_early + 1, sizeof(*d->early));
	d->early[d->nr_early++] = *e;
}

static void retry_early(struct ebpf_drain *d, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nr_early; i++) {
		if (sink_if_known(d, &d->early[i]))
			continue;
		if (now > d->early[i].sample.header.time_ns + WAIT_NS)
			d->stats->nr_lost++;
		else
			d->early[kept++] = d->early[i];
	}
	d->nr_early = kept;
}

/* As sink_wait(), for a wait whose stack came with it. */
static void sink_wait_snapshot(struct ebpf_drain *d, const struct process *p,
			       const struct snapshot_event *e, struct walked *w)
{
	struct known_stack waiting, ready;

	ebpf_waits_once(d->waits, &d->out, p, e, w, &waiting, &ready);
	sink_parts(d, &e->sample, e->sample.key, &e->facts, waiting, ready);
}

/* `p` is NULL where its mappings are not those of the sample. */
static void unwind_snapshot(struct ebpf_drain *d, struct process *p, const struct snapshot_event *e,
			    enum snapshot_depth depth)
{
	uint64_t user[MAX_USER_FRAMES], awaited;
	struct walked w = {
		.kernel = (const uint64_t *)e->kernel,
		.nr_kernel = e->nr_kernel,
		.user = user,
		.in_kernel = e->in_kernel,
	};

	if (p && depth != SNAPSHOT_LEAF)
		ebpf_read_python_stack(d->snapshots, d->last_python, p, e);
	awaited = ebpf_unwind_snapshot(d->snapshots, p, e, depth, user, MAX_USER_FRAMES, &w);
	if (awaited) {
		late_snapshots_await(d->late, e, p, awaited);
		ebpf_own(p)->late_until_ns = monotonic_ns() + LATE_SNAPSHOTS_NS;
		return;
	}
	d->stats->nr_snapshots += depth != SNAPSHOT_LEAF;
	if (p)
		runtime_unwind_check(d->targets->files->runtime, p, e->sample.header.time_ns,
				     p->epoch, &w);
	if (e->wait)
		sink_wait_snapshot(d, p, e, &w);
	else
		sink_sample(d, &e->sample, ring_record_column(&e->sample), e->sample.weight_ns,
			    sample_sink_stack(&d->out, p, &w));
}

/* What there is time for. Frames of a wait are read from the process now, so it cannot wait. */
static enum snapshot_depth depth_now(const struct ebpf_drain *d, const struct process *p,
				     const struct snapshot_event *e)
{
	if (late_snapshots_spent(d->late))
		return SNAPSHOT_LEAF;
	return p && !e->wait && late_snapshots_may_await(d->late, e, p) ? SNAPSHOT_MAY_WAIT
									: SNAPSHOT_WHOLE;
}

static bool table_is_coming(void *context, uint64_t module)
{
	const struct ebpf_drain *d = context;

	return snapshot_table_is_coming(d->targets->files->table, module);
}

static void on_python(void *context, const struct stack_event *e)
{
	struct ebpf_drain *d = context;

	ebpf_keep_python_stack(d->snapshots, e);
	late_snapshots_python(d->late, e);
}

static void on_late(void *context, const struct snapshot_event *e, uint32_t epoch, bool is_late)
{
	struct ebpf_drain *d = context;
	struct process *p = ebpf_find_process(d->targets, (pid_t)e->sample.header.tgid);

	if (p && p->epoch != epoch)
		p = NULL;
	unwind_snapshot(d, p, e, p && !is_late ? depth_now(d, p, e) : SNAPSHOT_LEAF);
}

static const struct late_snapshots_ops late_ops = { table_is_coming, on_python, on_late };

static void on_snapshot(struct ebpf_drain *d, const struct snapshot_event *e)
{
	struct process *p;

	ebpf_process(d->targets, (pid_t)e->sample.header.tgid, e->exec_id, &p);
	if (p) {
		ebpf_own(p)->nr_snapshots++;
		ebpf_saw_image(d->targets, p, e->exec_id);
		if (e->end == END_NO_MAP || e->end == END_NO_TABLE)
			ebpf_reread(d->targets, p);
		ebpf_publish_first(d->targets, p);
	}
	ebpf_files_await(d->targets->files, d->tables_until_ns);
	if (p && late_snapshots_keep(d->late, e, p))
		ebpf_own(p)->late_until_ns = monotonic_ns() + LATE_SNAPSHOTS_NS;
	else
		unwind_snapshot(d, p, e, depth_now(d, p, e));
}

/* ---- the queue */

static void on_queued(void *context, int kind, const void *data, size_t size)
{
	const struct event_header *h = data; /* but of KIND_SIDEBAND */
	struct ebpf_drain *d = context;

	(void)size;
	switch (kind) {
	case EVENT_CALL:
	case EVENT_SAMPLE: {
		const struct wait_event e = { .sample = *(const struct sample_event *)data };

		on_sample(d, &e);
		break;
	}
	case EVENT_WAIT: on_sample(d, data); break;
	case EVENT_THREAD: ebpf_waits_thread(d->waits, &d->out, user_of(d, h->tgid), data); break;
	case EVENT_STACK: on_stack(d, data); break;
	case EVENT_SNAPSHOT: on_snapshot(d, data); break;
	case EVENT_PYTHON: on_python(d, data); break;
	case EVENT_FORK:
		sample_sink_forked(&d->out, (pid_t)h->tgid,
				   (pid_t)((const struct fork_event *)data)->child);
		ebpf_on_fork(d->targets, data);
		break;
	case EVENT_EXEC:
		late_snapshots_hurry(d->late, h->tgid);
		ebpf_on_exec(d->targets, data);
		break;
	case EVENT_EXIT:
		sample_sink_ended(&d->out, (pid_t)h->tgid);
		python_codes_end(d->python_codes, h->tgid);
		ebpf_on_exit(d->targets, data);
		break;
	case KIND_SIDEBAND: {
		const struct queued_sideband *q = data;
		struct sideband_record r = q->record;

		r.path = q->path;
		/* EVENT_EXEC comes later, when the mappings are the new program's. */
		if (r.type == SIDEBAND_EXEC && ebpf_find_process(d->targets, r.pid))
			late_snapshots_hurry(d->late, (uint32_t)r.pid);
		ebpf_on_sideband(d->targets, &r);
		break;
	}
	}
}

int ebpf_drain_queue_record(void *context, void *data, size_t size)
{
	const struct event_header *h = data;
	struct ebpf_drain *d = context;

	if (!ring_record_is_whole(data, &size))
		return 0;
	if (h->type == EVENT_CODE) {
		const struct code_event *e = data;

		/* Not queued: an older sample of another CPU may name the code object already. */
		if (!python_codes_add(d->python_codes, e->header.tgid, &e->code,
				      size - sizeof(e->header))) {
			ebpf_pythons_send_again(d->targets->pythons);
			kernel_side_forget_code_objects(d->kernel);
		}
		return 0;
	}
	time_order_push(d->queue, h->time_ns, h->type, data, size);
	return 0;
}

void ebpf_drain_queue_sideband(void *context, const struct sideband_record *r)
{
	size_t length = r->path ? strlen(r->path) + 1 : 1;
	struct ebpf_drain *d = context;
	struct queued_sideband *q;

	/*
	 * Most of what a machine maps belongs to processes that are not sampled. They are left out
	 * later, in order of time: one of them may be a child whose fork has not been read yet.
	 */
	q = time_order_add(d->queue, r->time_ns, KIND_SIDEBAND, sizeof(*q) + length);
	*q = (struct queued_sideband){ .record = *r };
	memcpy(q->path, r->path ? r->path : "", length);
}

size_t ebpf_drain_handle(struct ebpf_drain *d, uint64_t before_ns)
{
	size_t left;

	late_snapshots_take(d->late, false);
	python_codes_tidy(d->python_codes, monotonic_ns());
	left = time_order_take(d->queue, before_ns, on_queued, d);
	retry_early(d, before_ns);
	return left;
}

void ebpf_drain_finish(struct ebpf_drain *d)
{
	uint64_t until = monotonic_ns() + LAST_TABLES_NS;

	while (late_snapshots_lack_tables(d->late) &&
	       ebpf_files_await_next(d->targets->files, until))
		late_snapshots_take(d->late, false);
	late_snapshots_take(d->late, true);
	ebpf_drain_tell_sums(d);
	sample_sink_end(&d->out);
}
