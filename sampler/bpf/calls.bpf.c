// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Counts calls by a probe (uprobe) at the first instruction of a native function, or by CPython's
 * own probe (USDT function__entry); times CPython's garbage collections and imports by its other
 * probes, and collective operations by probes at the entry and the returns of functions. A probe
 * belongs to a file, so every process that maps the file runs these programs; only recorded
 * processes are counted, with the processes that they fork, from their first instruction on.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "sampler/bpf/calls.h"
#include "sampler/bpf/task.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool system_wide;
const volatile bool no_children; /* what a process forks is not counted */
__u64 begin_ns, end_ns;		 /* CLOCK_MONOTONIC: calls in between are counted */
__u64 nr_execs;
__u64 nr_collectives_left_out;
__u64 nr_children_left_out;
__u64 nr_left_out; /* not counted: no room, or a Python function whose name could not be read */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CALL_PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
} counted SEC(".maps"); /* by process; 0: it counts from its next exec on */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_CALL_PROBES);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps"); /* by probe */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_PYTHON_FUNCTIONS);
	__type(key, struct python_call_key);
	__type(value, struct python_calls);
} python_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct gc_run);
} gc_runs SEC(".maps"); /* by thread */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct gc_key);
	__type(value, struct gc_sum);
} gc_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} imports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct collective_run);
} collective_runs SEC(".maps"); /* by thread */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} collectives SEC(".maps");

/* A new function's entry: all zeros, and too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_calls);
} nothing SEC(".maps");

static __always_inline bool is_counted(__u32 tgid)
{
	__u64 now = bpf_ktime_get_ns();
	const __u32 *counts;

	if (now < begin_ns || now >= end_ns)
		return false;
	if (system_wide)
		return true;
	counts = bpf_map_lookup_elem(&counted, &tgid);
	return counts && *counts;
}

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	__u32 probe = (__u32)bpf_get_attach_cookie(ctx);
	__u64 *nr;

	if (!is_counted((__u32)(bpf_get_current_pid_tgid() >> 32)))
		return 0;
	nr = bpf_map_lookup_elem(&calls, &probe);
	if (nr)
		/* Atomic: another thread on the same CPU may interrupt this program. */
		__sync_fetch_and_add(nr, 1);
	return 0;
}

static __always_inline struct python_calls *add_function(const struct python_call_key *key)
{
	struct python_calls *function;
	__u32 zero = 0;

	function = bpf_map_lookup_elem(&nothing, &zero);
	if (!function)
		return NULL;
	/* Another thread may add it at the same time: then that entry is used. */
	bpf_map_update_elem(&python_calls, key, function, BPF_NOEXIST);
	function = bpf_map_lookup_elem(&python_calls, key);
	if (!function || function->name[0])
		return function;
	bpf_probe_read_user_str(function->file, sizeof(function->file), (void *)key->file);
	bpf_probe_read_user_str(function->name, sizeof(function->name), (void *)key->name);
	return function;
}

SEC("usdt")
int on_python_entry(struct pt_regs *ctx)
{
	struct python_call_key key = { .tgid = (__u32)(bpf_get_current_pid_tgid() >> 32) };
	struct python_calls *function;
	long file = 0, name = 0, line = 0;

	if (!is_counted(key.tgid))
		return 0;
	if (bpf_usdt_arg(ctx, 0, &file) || bpf_usdt_arg(ctx, 1, &name) ||
	    bpf_usdt_arg(ctx, 2, &line) ||
	    bpf_probe_read_user_str(key.name_start, sizeof(key.name_start), (void *)name) < 0) {
		__sync_fetch_and_add(&nr_left_out, 1);
		return 0;
	}
	key.file = (__u64)file;
	key.name = (__u64)name;
	key.line = (__s32)line;
	function = bpf_map_lookup_elem(&python_calls, &key);
	if (!function)
		function = add_function(&key);
	if (function)
		__sync_fetch_and_add(&function->nr, 1);
	else
		__sync_fetch_and_add(&nr_left_out, 1);
	return 0;
}

SEC("usdt")
int on_gc_start(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;
	struct gc_run run = { .start_ns = bpf_ktime_get_ns() };
	long generation = 0;

	if (!is_counted((__u32)(id >> 32)) || bpf_usdt_arg(ctx, 0, &generation))
		return 0;
	run.generation =
		(__u32)generation < GC_GENERATIONS ? (__u32)generation : GC_GENERATIONS - 1;
	if (bpf_map_update_elem(&gc_runs, &tid, &run, BPF_ANY))
		__sync_fetch_and_add(&nr_left_out, 1);
	return 0;
}

SEC("usdt")
int on_gc_done(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), ns;
	struct gc_key key = { .tgid = (__u32)(id >> 32) };
	__u32 tid = (__u32)id;
	struct gc_sum *sum, zero = { 0 };
	struct gc_run *run;
	long freed = 0;

	run = bpf_map_lookup_elem(&gc_runs, &tid);
	if (!run)
		return 0;
	ns = bpf_ktime_get_ns() - run->start_ns;
	key.generation = run->generation;
	bpf_map_delete_elem(&gc_runs, &tid);
	bpf_usdt_arg(ctx, 0, &freed);
	sum = bpf_map_lookup_elem(&gc_sums, &key);
	if (!sum) {
		bpf_map_update_elem(&gc_sums, &key, &zero, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&gc_sums, &key);
	}
	if (!sum) {
		__sync_fetch_and_add(&nr_left_out, 1);
		return 0;
	}
	__sync_fetch_and_add(&sum->nr, 1);
	__sync_fetch_and_add(&sum->total_ns, ns);
	__sync_fetch_and_add(&sum->freed, freed > 0 ? (__u64)freed : 0);
	if (ns > sum->max_ns) /* one thread of a process collects at a time */
		sum->max_ns = ns;
	return 0;
}

static __always_inline int send_import(struct pt_regs *ctx, bool is_end)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct import_event *e;
	long module = 0, found = 0;

	if (!is_counted((__u32)(id >> 32)) || bpf_usdt_arg(ctx, 0, &module))
		return 0;
	if (is_end)
		bpf_usdt_arg(ctx, 1, &found);
	e = bpf_ringbuf_reserve(&imports, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&nr_left_out, 1);
		return 0;
	}
	e->time_ns = bpf_ktime_get_ns();
	e->tgid = (__u32)(id >> 32);
	e->tid = (__u32)id;
	e->is_end = is_end;
	e->found = found != 0;
	if (bpf_probe_read_user_str(e->module, sizeof(e->module), (void *)module) < 0)
		e->module[0] = '\0';
	bpf_ringbuf_submit(e, 0);
	return 0;
}

SEC("usdt")
int on_import_start(struct pt_regs *ctx)
{
	return send_import(ctx, false);
}

SEC("usdt")
int on_import_done(struct pt_regs *ctx)
{
	return send_import(ctx, true);
}

/*
 * What a thread has begun stays until it returns, or until the thread begins another one with its
 * return address no deeper in the stack: then an exception ended it. One that begins deeper is a
 * part of it. The first member of the options that gloo's functions take is the pointer to their
 * context, which is the communicator.
 */
SEC("uprobe")
int on_collective(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;
	struct collective_run *before, run = { .sp = PT_REGS_SP(ctx) };

	if (!is_counted((__u32)(id >> 32)))
		return 0;
	before = bpf_map_lookup_elem(&collective_runs, &tid);
	if (before && run.sp < before->sp)
		return 0;
	run.start_ns = bpf_ktime_get_ns();
	run.probe = (__u32)bpf_get_attach_cookie(ctx);
	if (bpf_probe_read_user(&run.lane, sizeof(run.lane), (void *)PT_REGS_PARM1(ctx)))
		run.lane = 0;
	if (bpf_map_update_elem(&collective_runs, &tid, &run, BPF_ANY))
		__sync_fetch_and_add(&nr_collectives_left_out, 1);
	return 0;
}

/* At a return: of what has begun where the stack pointer is what it was. */
SEC("uprobe")
int on_collective_return(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;
	struct collective_run *run = bpf_map_lookup_elem(&collective_runs, &tid);
	struct collective_event *e;

	if (!run || run->sp != PT_REGS_SP(ctx))
		return 0;
	e = bpf_ringbuf_reserve(&collectives, sizeof(*e), 0);
	if (e) {
		e->start_ns = run->start_ns;
		e->end_ns = bpf_ktime_get_ns();
		e->lane = run->lane;
		e->tgid = (__u32)(id >> 32);
		e->tid = tid;
		e->probe = run->probe;
		e->pad = 0;
		bpf_ringbuf_submit(e, 0);
	} else {
		__sync_fetch_and_add(&nr_collectives_left_out, 1);
	}
	bpf_map_delete_elem(&collective_runs, &tid);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	__u32 one = 1;

	if (!no_children && parent_tgid != child_tgid &&
	    bpf_map_lookup_elem(&counted, &parent_tgid) &&
	    bpf_map_update_elem(&counted, &child_tgid, &one, BPF_ANY))
		__sync_fetch_and_add(&nr_children_left_out, 1);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);
	__u32 *counts = bpf_map_lookup_elem(&counted, &tgid);

	if (counts)
		*counts = 1;
	if (system_wide || counts)
		__sync_fetch_and_add(&nr_execs, 1);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);

	bpf_map_delete_elem(&collective_runs, &tid);
	bpf_map_delete_elem(&gc_runs, &tid);
	if (BPF_CORE_READ(task, signal, live.counter) <= 0)
		bpf_map_delete_elem(&counted, &tgid);
	return 0;
}
