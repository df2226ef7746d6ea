/* The unwinder's questions are answered for the process whose stack is being unwound. */
#include "sampler/timer/timer_snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/sink/limits.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/walk/walk_arena.h"

struct timer_snapshots {
	struct timer_processes *processes;
	const struct sandbox *sandbox;
	struct source_unwinder *unwinder; /* made at the first snapshot */
	/* while a stack is unwound */
	const struct process *process;
	uint64_t time_ns;
};

struct timer_snapshots *timer_snapshots_new(struct timer_processes *processes,
					    const struct sandbox *sandbox)
{
	struct timer_snapshots *s = xcalloc(1, sizeof(*s));

	s->processes = processes;
	s->sandbox = sandbox;
	return s;
}

void timer_snapshots_free(struct timer_snapshots *s)
{
	source_unwinder_free(s->unwinder);
	free(s);
}

void timer_snapshots_forget(struct timer_snapshots *s, const struct mapped_file *file)
{
	source_unwinder_forget(s->unwinder, file->index + 1ull);
}

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct timer_snapshots *s = context;

	return snapshot_find_mapping(s->process, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct timer_snapshots *s = context;

	return snapshot_open_module(s->processes->publish.files, module, ret);
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	const struct timer_snapshots *s = context;
	const struct timer_publish *t = &s->processes->publish;

	if (walk_arena_find_rule(t->arena, (uint32_t)module - 1, vaddr, ret))
		return true;
	snapshot_missed_table(t->files, t->builder, module);
	return false;
}

bool timer_snapshots_table_is_coming(const struct timer_snapshots *s, uint64_t module)
{
	return snapshot_table_is_coming(s->processes->publish.files, module);
}

static bool table_is_coming(void *context, uint64_t module)
{
	return timer_snapshots_table_is_coming(context, module);
}

static bool find_runtime_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	const struct timer_snapshots *s = context;

	return runtime_unwind_rule(s->processes->publish.runtime, s->process, address, s->time_ns,
				   ret);
}

struct snapshot_result timer_snapshots_unwind(struct timer_snapshots *s, const struct process *p,
					      const struct agent_sample *e, const uint64_t *words,
					      bool may_wait, uint64_t *frames, size_t max)
{
	static const struct snapshot_ops ops = {
		.find_mapping = find_mapping,
		.open_module = open_module,
		.find_rule = find_rule,
		.table_is_coming = table_is_coming,
		.find_runtime_rule = find_runtime_rule,
	};
	struct agent_snapshot snapshot;
	struct snapshot_sample sample;
	struct snapshot_result result;

	memcpy(&snapshot, words, sizeof(snapshot));
	sample = (struct snapshot_sample){
		.regs = {
			.pc = snapshot.pc,
			.sp = snapshot.gpr[WALK_REG_SP],
			.fp = snapshot.gpr[WALK_REG_FP],
			.exact = !e->in_kernel,
			.leaf_regs = 1,
		},
		.stack = (const uint8_t *)(words + TIMER_SNAPSHOT_WORDS + e->nr_frames),
		.stack_start = snapshot.stack_start,
		.stack_size = snapshot.stack_size,
		.guess = !e->nr_frames, /* Python frames go between known ones only */
		.may_wait = may_wait,
		.space = (uint64_t)p->pid << 32 | p->epoch,
		.process = (uint32_t)p->pid,
		.user = p->user,
	};
	memcpy(sample.regs.gpr, snapshot.gpr, sizeof(sample.regs.gpr));
	if (!s->unwinder)
		s->unwinder = source_unwinder_new(&ops, s, s->sandbox);
	s->process = p;
	s->time_ns = e->time_ns;
	result = source_unwind(s->unwinder, &sample, frames, max);
	limits_set_guesses(s->processes->limits, source_unwinder_refused(s->unwinder));
	return result;
}
