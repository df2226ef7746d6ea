// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The kernel side of the eBPF source. A perf event per CPU runs on_sample(), which walks the user
 * stack of the interrupted task and sends a small fixed record per sample. The stack itself is sent
 * only when its key is not in the slot table, so a collision costs bytes and never a stack. A stack
 * that cannot be walked here (rows not built yet, unknown mapping, DWARF expressions) is sent as a
 * snapshot of registers and stack bytes. Raw tracepoints keep the map of processes right across
 * fork and exec, from a child's first instruction on.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "core/portable/walk.h"
#include "sampler/bpf/events.h"
#include "sampler/bpf/kernel_names.bpf.h"
#include "sampler/bpf/lifecycle.bpf.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/python.bpf.h"
#include "sampler/bpf/regs_x86_64.bpf.h"
#include "sampler/bpf/root_end.bpf.h"
#include "sampler/bpf/running.bpf.h"
#include "sampler/bpf/snapshot.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/growth.bpf.h"
#include "sampler/bpf/thread_stack.bpf.h"
#include "sampler/bpf/walker.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/*
 * What a tick of the clock weighs. The recorder changes it with the rate: the period that a context
 * shows is the one that its event was opened with, whatever has been set since.
 */
volatile __u64 clock_weight_ns;

/* How many of each event's a tracepoint lets pass for one that is sampled. */
const volatile __u64 event_periods[MAX_EVENTS];

/* By number of an event: those that passed since the last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_EVENTS);
	__type(key, __u32);
	__type(value, __u64);
} events_passed SEC(".maps");

/*
 * Takes the kernel frames and user registers of the sample. 1: there is a user stack to walk; 0:
 * there is none, and st->end says why.
 */
static __always_inline int take_kernel_context(void *ctx, struct walk_state *st)
{
	long bytes = bpf_get_stack(ctx, st->frames, MAX_KERNEL_FRAMES * 8, 0);

	st->event.in_kernel = 1;
	st->event.nr_kernel = bytes > 0 ? ((__u64)bytes >> 3) & 127 : 0;
	return take_user_regs(st);
}

static __always_inline int take_context(struct bpf_perf_event_data *ctx, struct walk_state *st)
{
	if (regs_in_kernel(&ctx->regs))
		return take_kernel_context(ctx, st);
	st->event.nr_kernel = 0;
	st->event.in_kernel = 0;
	if (regs_are_32bit(&ctx->regs)) {
		st->end = END_COMPAT;
		return 0;
	}
	take_regs(&st->regs, &ctx->regs);
	st->regs.exact = 1;
	return 1;
}

/* A tracepoint is met in the kernel alone. */
static __always_inline int take_any_context(void *ctx, struct walk_state *st, bool tracepoint)
{
	return tracepoint ? take_kernel_context(ctx, st) : take_context(ctx, st);
}

static __always_inline int send_sample(struct walk_state *st)
{
	struct sample_event *e;

	if (!send_stack(st))
		return 0;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e)
		return 0;
	begin_sample(e, st, EVENT_SAMPLE, st->weight);
	e->event = st->number;
	e->running = st->running;
	bpf_ringbuf_submit(e, wakeup_flag());
	return 1;
}

static __always_inline bool in_cgroups(void)
{
	for (__u32 i = 0; i < MAX_CGROUPS && i < nr_cgroups; i++)
		if (bpf_current_task_under_cgroup(&cgroups, i) == 1)
			return true;
	return false;
}

/*
 * Is the running process, whose entry `p` may be NULL, to be sampled? A cgroup has those that are
 * in it now; a user those that are known, and new ones.
 */
static __always_inline bool is_target(const struct process_entry *p, __u32 tgid)
{
	if (nr_cgroups)
		return tgid && tgid != recorder && in_cgroups();
	if (p || !tgid)
		return p;
	return system_wide ||
	       (by_user && (__u32)bpf_get_current_uid_gid() == user && tgid != recorder);
}

/*
 * Walks and sends the sample that st->number and st->weight begin. All programs that a CPU runs for
 * perf events and tracepoints exclude each other, so they share its walk state.
 */
static __always_inline void take_sample(void *ctx, struct walk_state *st, struct process_entry *p,
					__u32 tgid, bool tracepoint)
{
	bool sent;

	begin_stack(st, tgid);
	if (take_any_context(ctx, st, tracepoint)) {
		if (!p)
			p = add_process(tgid);
		walk_thread(st, p, tgid);
		if (wants_snapshot(st, p)) {
			__u32 end = st->end;

			if (take_any_context(ctx, st, tracepoint)) {
				st->end = end;
				if (st->python)
					send_python(st);
				if (send_snapshot(st, st->weight, 0)) {
					count_snapshot(st, p);
					return;
				}
				/* The frames that were walked have made room for Python's. */
				st->py.lost = st->python != 0;
			}
			st->end = end;
		}
	}
	finish_key(st);
	sent = !st->py.lost && send_sample(st);
	if (!sent)
		count(COUNTER_LOST);
}

/* What this CPU walks the current task with; NULL if the caller may not look at it. */
static __always_inline struct walk_state *state_for_task(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (callers_only && !task_is_readable((void *)bpf_get_current_task_btf()))
		return NULL;
	return bpf_map_lookup_elem(&states, &cpu);
}

static __always_inline int on_event(struct bpf_perf_event_data *ctx, bool latency)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct process_entry *p = find_target(tgid);
	struct walk_state *st;

	if (!is_target(p, tgid))
		return 0;
	st = state_for_task();
	if (!st)
		return 0;
	st->number = bpf_get_attach_cookie(ctx);
	st->weight = st->number ? ctx->sample_period : clock_weight_ns;
	if (latency)
		count_running(st);
	take_sample(ctx, st, p, tgid, false);
	return 0;
}

/* Runs at each tick of the clock, whose cookie is 0, and at events of counters. */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	return on_event(ctx, false);
}

/* The same, but it also counts what runs. Only one of the two is loaded. */
SEC("perf_event")
int on_sample_with_others(struct bpf_perf_event_data *ctx)
{
	return on_event(ctx, true);
}

/* Is this event the last of its period on this CPU? */
static __always_inline bool ends_period(__u32 number)
{
	__u32 index = number - 1;
	__u64 *passed = bpf_map_lookup_elem(&events_passed, &index);

	if (!passed || index >= MAX_EVENTS)
		return false;
	if (++*passed < event_periods[index])
		return false;
	*passed = 0;
	return true;
}

/* Runs at every event of a tracepoint, on any CPU. Loaded only where one is sampled. */
SEC("tp")
int on_tracepoint(void *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct process_entry *p = find_target(tgid);
	__u32 number = bpf_get_attach_cookie(ctx);
	struct walk_state *st;

	if (!is_target(p, tgid) || !ends_period(number))
		return 0;
	st = state_for_task();
	if (!st)
		return 0;
	st->number = number;
	st->weight = event_periods[(number - 1) & (MAX_EVENTS - 1)];
	take_sample(ctx, st, p, tgid, true);
	return 0;
}

/* Runs at every page fault that needed no disk. Loaded only where growth is sampled. */
SEC("perf_event")
int on_growth(struct bpf_perf_event_data *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct process_entry *p = find_target(tgid);
	struct walk_state *st;
	__u64 bytes;

	if (!is_target(p, tgid))
		return 0;
	bytes = growth_at_fault(tgid);
	st = bytes ? state_for_task() : NULL;
	if (!st)
		return 0;
	st->number = GROWTH_EVENT;
	st->weight = bytes;
	take_sample(ctx, st, p, tgid, false);
	return 0;
}
