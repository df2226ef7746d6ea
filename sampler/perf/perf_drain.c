/*
 * Handles records in order of time. A sample carries the registers and a copy of the stack, and is
 * unwound here with the mappings that its process had at that time. Unwinding is slower than
 * sampling, so the rings are emptied again after each slice of the past.
 */
#include "sampler/perf/perf.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/perf/python_stacks.h"
#include "sampler/perf/task_events.h"
#include "sampler/unwind/unwind_table.h"

/* The rings hold a few dozen samples: they are emptied again after each slice of this length. */
#define SLICE_NS (8ull * 1000 * 1000)
/* A sample that waited longer keeps only its leaf: unwinding has fallen behind sampling. */
#define LATE_NS (2000ull * 1000 * 1000)
/* While more than this waits, samples come in without the copies of their stacks. */
#define QUEUE_BYTES (64u << 20)

/* ---- what the unwinder asks */

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct source *s = context;

	return snapshot_find_mapping(s->unwinding, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct source *s = context;

	return snapshot_open_module(s->files, module, ret);
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	const struct source *s = context;
	const struct perf_rows *rows = &s->rows[module - 1];

	if (!rows->ready) {
		snapshot_missed_table(s->files, s->builder, module);
		return false;
	}
	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	if (rows->table)
		*ret = s->rules[unwind_table_find(rows->table, vaddr)];
	return true;
}

static bool find_runtime_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	const struct source *s = context;

	return s->unwinding &&
	       runtime_unwind_rule(s->runtime, s->unwinding, address, s->unwinding_ns, ret);
}

static struct snapshot_result unwind(struct source *s, const struct process *p, uint64_t time_ns,
				     const struct perf_sample *e, uint64_t *frames)
{
	static const struct snapshot_ops ops = {
		.find_mapping = find_mapping,
		.open_module = open_module,
		.find_rule = find_rule,
		.find_runtime_rule = find_runtime_rule,
	};
	struct snapshot_sample sample = {
		.regs = {
			.pc = e->pc,
			.sp = e->gpr[WALK_REG_SP],
			.fp = e->gpr[WALK_REG_FP],
			.exact = !(e->in_kernel && e->gpr[WALK_REG_SYSCALL_PC] == e->pc),
			.leaf_regs = 1,
		},
		.stack = e->stack,
		.stack_start = e->gpr[WALK_REG_SP],
		.stack_size = e->stack_size,
		.guess = true,
	};

	memcpy(sample.regs.gpr, e->gpr, sizeof(sample.regs.gpr));
	if (p) {
		sample.space = (uint64_t)p->pid << 32 | p->epoch;
		sample.process = (uint32_t)p->pid;
		sample.user = p->user;
	}
	if (!s->unwinder)
		s->unwinder = source_unwinder_new(&ops, s, s->sandbox);
	s->unwinding = p;
	s->unwinding_ns = time_ns;
	return source_unwind(s->unwinder, &sample, frames, MAX_USER_FRAMES);
}

/*
 * Unwinds the user's part of the stack into `w`; user[] holds its frames. *ret_gil: enum
 * profile_gil.
 */
static void walk_user(struct source *s, struct process *p, const struct perf_record *r,
		      uint64_t *user, struct walked *w, uint8_t *ret_gil)
{
	const struct perf_sample *e = &r->sample;
	struct snapshot_result result;

	if (e->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	if (e->abi == PERF_SAMPLE_REGS_ABI_32) {
		w->marker = MARKER_COMPAT_32BIT;
		return;
	}
	if (p && !process_find(p, e->pc)) {
		/*
		 * In the middle of an exec: the registers are the old program's, whose stack is
		 * gone.
		 */
		if (p->exec_pending && e->in_kernel)
			return;
		perf_reread(s, p);
	}
	if (p)
		p->exec_pending = false;
	if (monotonic_ns() - r->time_ns < LATE_NS) {
		s->stats.nr_snapshots++;
		result = unwind(s, p, r->time_ns, e, user);
	} else {
		user[0] = e->pc | FRAME_EXACT;
		result = (struct snapshot_result){ .nr = 1, .marker = MARKER_SNAPSHOT_END };
	}
	snapshot_result_put(&result, w);
	if (p)
		runtime_unwind_check(s->runtime, p, r->time_ns, p->epoch, w);
	if (p)
		*ret_gil = python_stacks_merge(s->python, p, r, &result, user, w);
}

/* Kernels before 5.13 sample what a target forks too. */
static bool is_wanted(const struct source *s, pid_t pid)
{
	bool wanted = !s->no_children;

	for (size_t i = 0; i < s->nr_alone && !wanted; i++)
		wanted = s->alone[i] == pid;
	return wanted;
}

static void on_sample(struct source *s, const struct perf_record *r)
{
	const struct perf_sample *e = &r->sample;
	uint64_t user[MAX_USER_FRAMES];
	struct walked w = {
		.kernel = e->kernel,
		.nr_kernel = e->in_kernel ? e->nr_kernel : 0,
		.user = user,
		.marker = -1,
		.in_kernel = e->in_kernel,
	};
	struct profile_sample sample = {
		.time_ns = r->time_ns,
		.weight = e->period,
		.cpu = r->cpu,
		.column = COLUMN_CPU,
	};
	struct known_stack stack;
	struct process *p;

	if (!s->start_ns || r->time_ns < s->start_ns || !is_wanted(s, r->pid))
		return;
	if (!perf_events_count_ns(s->events))
		sample.weight = perf_events_period_ns(s->events);
	perf_process(s, r->pid, &p);
	walk_user(s, p, r, user, &w, &sample.gil);
	sample.thread = sample_sink_thread(&s->out, (uint32_t)r->pid, (uint32_t)r->tid,
					   perf_thread_comm(s, r->pid, r->tid));
	stack = sample_sink_stack(&s->out, p, &w);
	sample.stack = stack.stack;
	sample_sink_sample(&s->out, &sample, stack);
}

static void on_queued(void *context, int kind, const void *data, size_t size)
{
	struct source *s = context;
	struct perf_record r;

	(void)size;
	memcpy(&r, data, sizeof(r));
	switch (kind) {
	case PERF_SAMPLE_TAKEN:
		r.sample.stack = (const uint8_t *)data + sizeof(r);
		on_sample(s, &r);
		break;
	case PERF_MAPPED:
		r.path = (const char *)data + sizeof(r);
		perf_on_mapped(s, &r);
		break;
	case PERF_NAMED: perf_on_named(s, &r); break;
	case PERF_FORKED:
		if (r.pid != r.parent_pid)
			sample_sink_forked(&s->out, r.parent_pid, r.pid);
		perf_on_forked(s, &r);
		break;
	case PERF_EXITED:
		sample_sink_ended(&s->out, r.tid);
		perf_on_exited(s, &r);
		break;
	case PERF_DROPPED: perf_on_dropped(s, &r); break;
	case PERF_THROTTLED: s->stats.nr_throttled++; break;
	}
}

void perf_queue_record(void *context, const struct perf_record *r)
{
	struct source *s = context;
	const void *tail = NULL;
	struct perf_record *queued;
	size_t size = 0;

	python_stacks_on_record(s->python, r);
	if (r->type == PERF_SWITCHED)
		return;
	if (r->type == PERF_SAMPLE_TAKEN) {
		tail = r->sample.stack;
		size = time_order_bytes(s->queue) < QUEUE_BYTES ? r->sample.stack_size : 0;
	} else if (r->type == PERF_MAPPED) {
		tail = r->path;
		size = strlen(r->path) + 1;
	}
	queued = time_order_add(s->queue, r->time_ns, (int)r->type, sizeof(*r) + size);
	*queued = *r;
	if (r->type == PERF_SAMPLE_TAKEN)
		queued->sample.stack_size = size;
	if (size)
		memcpy(queued + 1, tail, size);
}

void perf_read_rings(struct source *s)
{
	python_stacks_poll(s->python, s->events);
	perf_events_read(s->events, perf_queue_record, s);
}

void perf_handle_records(struct source *s, uint64_t before_ns)
{
	uint64_t now = monotonic_ns(), end, horizon = python_stacks_horizon(s->python);

	before_ns = before_ns < horizon ? before_ns : horizon;
	end = before_ns < now ? before_ns : now;
	for (; s->handled_ns + SLICE_NS < end; s->handled_ns += SLICE_NS) {
		time_order_take(s->queue, s->handled_ns + SLICE_NS, on_queued, s);
		perf_read_rings(s);
	}
	time_order_take(s->queue, before_ns, on_queued, s);
	s->handled_ns = end;
}
