// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Counts and times the system calls of targets, for sprof record --syscalls. Sums are kept on each
 * CPU; a call of threshold_ns or longer is a sample with the stack of its thread, walked as the
 * call returns. A tick may interrupt that walk, so this object has its own scratch memory.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/python.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/thread_stack.bpf.h"
#include "sampler/bpf/walker.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile __u64 threshold_ns;  /* 0: no call is a sample */
const volatile __u32 max_in_window; /* samples of a CPU; further calls of the window are lost */
#define WINDOW_NS 100000000u

__u32 segment; /* of the recording; the recorder counts it up */

#define MAX_CALLS (NO_SYSTEM_CALL + 1)
#define MAX_ERRNO 4095
#define FIRST_RESTART 512 /* codes by which the kernel restarts a call: no errors */
#define LAST_RESTART 516

struct open_call {
	__u64 start_ns; /* 0: it is in none that is counted */
	__u32 nr, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct open_call);
} open_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_CALLS);
	__type(key, __u32);
	__type(value, struct call_sums);
} call_sums SEC(".maps");

/* All zeros: the sums of a call that is met for the first time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_sums);
} no_sums SEC(".maps");

/* The calls that were samples in a stretch of time on this CPU. */
struct call_window {
	__u64 start_ns;
	__u32 nr, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_window);
} call_windows SEC(".maps");

/* A program can make a million calls in a second, each with a stack of its own. */
static __always_inline bool has_room(void)
{
	__u32 zero = 0;
	struct call_window *w = bpf_map_lookup_elem(&call_windows, &zero);
	__u64 now = bpf_ktime_get_ns();

	if (!w)
		return false;
	if (now - w->start_ns > WINDOW_NS) {
		w->start_ns = now;
		w->nr = 0;
	}
	return w->nr++ < max_in_window;
}

static __always_inline bool is_counted(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (system_wide ? tgid == recorder : !find_target(tgid))
		return false;
	return !callers_only || task_is_readable((void *)task);
}

static __always_inline __u32 current_segment(void)
{
	return *(volatile __u32 *)&segment;
}

static __always_inline void add_call(__u32 nr, __u64 ns, long ret)
{
	struct call_sums *sums = bpf_map_lookup_elem(&call_sums, &nr);
	__u32 zero = 0, bucket = call_bucket_of(ns);

	if (!sums) {
		void *empty = bpf_map_lookup_elem(&no_sums, &zero);

		if (empty)
			bpf_map_update_elem(&call_sums, &nr, empty, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&call_sums, &nr);
	}
	if (!sums) {
		count(COUNTER_LOST);
		return;
	}
	sums->errors +=
		ret < 0 && ret >= -MAX_ERRNO && !(ret <= -FIRST_RESTART && ret >= -LAST_RESTART);
	sums->total_ns += ns;
	if (sums->segment != current_segment()) {
		sums->segment = current_segment();
		sums->max_ns = 0;
	}
	if (ns > sums->max_ns)
		sums->max_ns = ns;
	if (bucket < CALL_BUCKETS)
		sums->times[bucket]++;
}

static __always_inline int send_call(struct walk_state *st, __u64 ns)
{
	struct sample_event *e;

	if (!send_stack(st))
		return 0;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e)
		return 0;
	begin_sample(e, st, EVENT_CALL, ns);
	bpf_ringbuf_submit(e, wakeup_flag());
	return 1;
}

static __always_inline void sample_call(__u32 nr, __u64 ns)
{
	__u32 cpu = bpf_get_smp_processor_id(), tgid = bpf_get_current_pid_tgid() >> 32;
	struct process_entry *p = bpf_map_lookup_elem(&processes, &tgid);
	struct walk_state *st = bpf_map_lookup_elem(&states, &cpu);

	if (!st || !has_room()) {
		count(COUNTER_LOST);
		return;
	}
	begin_stack(st, tgid);
	st->event.wait = CALL_STACK;
	st->event.call = nr;
	st->event.nr_kernel = 0;
	st->event.in_kernel = 0;
	if (take_user_regs(st)) {
		if (!p && system_wide)
			p = add_process(tgid);
		walk_thread(st, p, tgid);
	}
	st->hash ^= (__u64)(CALL_STACK + nr) << 52;
	finish_key(st);
	if (st->py.lost || !send_call(st, ns))
		count(COUNTER_LOST);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(at_call, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct open_call *c;

	if (!is_counted(task))
		return 0;
	c = bpf_task_storage_get(&open_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c)
		return 0;
	c->nr = nr >= 0 && nr < NO_SYSTEM_CALL ? (__u32)nr : NO_SYSTEM_CALL;
	c->start_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(at_return, struct pt_regs *regs, long ret)
{
	struct open_call *c = bpf_task_storage_get(&open_calls, bpf_get_current_task_btf(), 0, 0);
	__u64 ns;

	if (!c || !c->start_ns)
		return 0;
	ns = bpf_ktime_get_ns() - c->start_ns;
	c->start_ns = 0;
	add_call(c->nr, ns, ret);
	if (threshold_ns && ns >= threshold_ns)
		sample_call(c->nr, ns);
	return 0;
}
