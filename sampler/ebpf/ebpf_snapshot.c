/*
 * Gives the snapshot unwinder what the source knows: the mappings of the process, the files behind
 * them and their published rows. Python frames come in a record of their own just before the
 * snapshot (EVENT_PYTHON); they are kept until it comes, and merged with its native frames.
 */
#include "sampler/ebpf/ebpf_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/markers.h"
#include "sampler/bpf/events.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/ebpf_python.h"
#include "sampler/runtimes/python/merge_frames.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/waiting/last_python.h"
#include "sampler/walk/confined/source_unwinder.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/snapshot_lookup.h"

/* Only a runaway recursion has more in a snapshot. */
#define MAX_NATIVE 4096

/* The Python frames of one sample. */
struct python_stack {
	uint64_t time_ns; /* time and tgid tell which snapshot it belongs to */
	uint32_t tgid;
	bool broken;
	struct python_runs runs;
	uint64_t words[MAX_USER_FRAMES];
	uint64_t native[MAX_NATIVE], merged[MAX_NATIVE + MAX_USER_FRAMES];
};

struct ebpf_snapshots {
	const struct ebpf_files *files;
	const struct ebpf_pythons *pythons;
	const struct sandbox *sandbox;
	struct source_unwinder *unwinder; /* made when the first snapshot comes */
	struct python_stack *python;	  /* made when the first Python frames come */
	/* while a snapshot is unwound */
	const struct process *process;
	uint64_t time_ns;
};

struct ebpf_snapshots *ebpf_snapshots_new(const struct ebpf_files *files,
					  const struct ebpf_pythons *pythons,
					  const struct sandbox *sandbox)
{
	struct ebpf_snapshots *s = xcalloc(1, sizeof(*s));

	s->files = files;
	s->pythons = pythons;
	s->sandbox = sandbox;
	return s;
}

void ebpf_snapshots_free(struct ebpf_snapshots *s)
{
	if (!s)
		return;
	source_unwinder_free(s->unwinder);
	free(s->python);
	free(s);
}

void ebpf_snapshots_forget(void *snapshots, const struct mapped_file *file)
{
	struct ebpf_snapshots *s = snapshots;

	source_unwinder_forget(s->unwinder, file->index + 1ull);
}

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct ebpf_snapshots *s = context;

	return snapshot_find_mapping(s->process, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct ebpf_snapshots *s = context;

	return snapshot_open_module(s->files->table, module, ret);
}

static bool find_rule(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	const struct ebpf_snapshots *s = context;

	if (ebpf_files_find_rule(s->files, module, vaddr, ret))
		return true;
	snapshot_missed_table(s->files->table, s->files->builder, module);
	return false;
}

static bool table_is_coming(void *context, uint64_t module)
{
	const struct ebpf_snapshots *s = context;

	return snapshot_table_is_coming(s->files->table, module);
}

static bool find_runtime_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	const struct ebpf_snapshots *s = context;

	return s->process &&
	       runtime_unwind_rule(s->files->runtime, s->process, address, s->time_ns, ret);
}

static struct snapshot_result unwind(struct ebpf_snapshots *s, const struct process *p,
				     const struct snapshot_event *e, bool has_python, bool may_wait,
				     uint64_t *frames, size_t max)
{
	const struct snapshot_ops ops = {
		.find_mapping = find_mapping,
		.open_module = open_module,
		.find_rule = find_rule,
		.table_is_coming = table_is_coming,
		.find_runtime_rule = find_runtime_rule,
		.by_header = s->files->is_limited,
	};
	struct snapshot_sample sample = {
		.regs = {
			.pc = e->pc,
			.sp = e->gpr[WALK_REG_SP],
			.fp = e->gpr[WALK_REG_FP],
			.exact = e->exact,
			.leaf_regs = 1,
		},
		.stack = (const uint8_t *)(e + 1),
		.stack_start = e->stack_start,
		.stack_size = e->stack_size,
		.guess = !has_python, /* Python frames go between known ones only */
		.may_wait = may_wait,
	};

	memcpy(sample.regs.gpr, e->gpr, sizeof(sample.regs.gpr));
	if (p) {
		sample.space = (uint64_t)p->pid << 32 | p->epoch;
		sample.process = (uint32_t)p->pid;
		sample.user = p->user;
	}
	if (!s->unwinder)
		s->unwinder = source_unwinder_new(&ops, s, s->sandbox);
	s->process = p;
	s->time_ns = e->sample.header.time_ns;
	return source_unwind(s->unwinder, &sample, frames, max);
}

uint64_t ebpf_snapshots_refused(const struct ebpf_snapshots *s)
{
	return s ? source_unwinder_refused(s->unwinder) : 0;
}

static struct python_stack *python_stack_of(struct ebpf_snapshots *s)
{
	if (!s->python)
		s->python = xcalloc(1, sizeof(*s->python));
	return s->python;
}

void ebpf_read_python_stack(struct ebpf_snapshots *s, struct last_python *last,
			    const struct process *p, const struct snapshot_event *e)
{
	const struct py_layout *layout = ebpf_pythons_layout(s->pythons, ebpf_own(p)->python);
	struct python_stack *k;

	if (!e->wait || !e->thread_pointer || !e->stack_size || !layout)
		return;
	k = python_stack_of(s);
	last_python_read(last, layout, e, &k->runs, &k->broken);
	/* A thread without Python frames has a snapshot like any other. */
	k->time_ns = k->runs.nr || k->broken ? e->sample.header.time_ns : 0;
	k->tgid = e->sample.header.tgid;
}

void ebpf_keep_python_stack(struct ebpf_snapshots *s, const struct stack_event *e)
{
	const uint64_t *words = (const uint64_t *)(e + 1) + e->nr_kernel;
	size_t nr = e->nr_user, rotation = 0;
	struct python_stack *k = python_stack_of(s);

	k->time_ns = e->header.time_ns;
	k->tgid = e->header.tgid;
	k->broken = e->python_broken;
	if (e->nr_total > nr)
		rotation = (e->nr_total - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
	for (size_t i = 0; i < nr; i++) {
		size_t at = i;

		if (rotation && i >= MAX_LEAF_FRAMES)
			at = MAX_LEAF_FRAMES + (i - MAX_LEAF_FRAMES + rotation) % MAX_ROOT_FRAMES;
		k->words[i] = words[at];
	}
	k->runs = (struct python_runs){ .words = k->words, .nr = nr };
}

static bool goes_with(const struct python_stack *k, const struct snapshot_event *e)
{
	return k && k->time_ns == e->sample.header.time_ns && k->tgid == e->sample.header.tgid;
}

uint64_t ebpf_unwind_snapshot(struct ebpf_snapshots *s, const struct process *p,
			      const struct snapshot_event *e, enum snapshot_depth depth,
			      uint64_t *frames, size_t max, struct walked *w)
{
	struct python_stack *k = goes_with(s->python, e) ? s->python : NULL;
	uint64_t leaf = e->exact ? e->pc | FRAME_EXACT : e->pc, sp = e->gpr[WALK_REG_SP];
	uint64_t *native = k ? k->native : frames;
	struct snapshot_result result = { .nr = 1, .marker = MARKER_SNAPSHOT_END, .sps = &sp };

	if (depth == SNAPSHOT_LEAF)
		native[0] = leaf;
	else
		result = unwind(s, p, e, k, depth == SNAPSHOT_MAY_WAIT, native,
				k ? MAX_NATIVE : max);
	if (result.awaited)
		return result.awaited;
	snapshot_result_put(&result, w);
	if (!k)
		return 0;
	if (result.sps) {
		struct native_stack stack = { native, result.sps, result.nr };

		if (p)
			ebpf_pythons_eval_text(s->pythons, ebpf_own(p)->python, &k->runs.eval_start,
					       &k->runs.eval_size);
		native = k->merged;
		w->nr_user = python_merge(&stack, &k->runs, native, MAX_NATIVE + MAX_USER_FRAMES);
	}
	w->gap = python_merge_cut(frames, native, w->nr_user, max);
	if (w->nr_user > max)
		w->nr_user = max;
	w->python_broken = k->broken;
	return 0;
}
