// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Who wakes a thread, for sprof record --wakers. The waker's stack is walked as it wakes, if the
 * wait it ends is one that will be sampled: one that is long, or that crosses the thread's next
 * point. Interrupts are off then. A waking may come from an interrupt in the middle of a walk of
 * waiting.bpf.c, so this object has its own scratch memory.
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
#include "sampler/bpf/waiting_time.bpf.h"
#include "sampler/bpf/walker.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define LONG_NS 1000000u /* the shortest period */

/* By CPU, modulo their number; each has a cache line. */
static struct waking {
	__u64 address[8]; /* the first: of a thread; address_through() */
} wakings[MAX_CPUS];

/* Will the wait of the thread that is woken now be sampled, as far as can be told already? */
static __always_inline bool will_be_drawn(struct waiter *t, __u64 *ret_now)
{
	__u64 off;

	if (t->in_ns)
		return false; /* it has not left its CPU yet */
	*ret_now = bpf_ktime_get_ns();
	off = *ret_now - (t->out_ns ? t->out_ns : t->start_ns);
	if (!t->points.weight)
		return off >= LONG_NS;
	return off >= t->points.weight || t->points.left < (__s64)off;
}

/*
 * Walks and sends the stack of the running thread. Returns its key; 0: it is lost. Of a process
 * that is no target only the kernel's frames are taken.
 */
static __always_inline __u64 send_waker(void *ctx, struct walk_state *st, __u32 tgid)
{
	struct process_entry *p = bpf_map_lookup_elem(&processes, &tgid);
	long bytes;

	begin_stack(st, tgid);
	st->event.wait = WAKER_STACK;
	bytes = bpf_get_stack(ctx, st->frames, MAX_KERNEL_FRAMES * 8, 0);
	st->event.nr_kernel = bytes > 0 ? ((__u64)bytes >> 3) & 127 : 0;
	st->event.in_kernel = 1;
	st->end = END_NO_USER;
	if (p && take_user_regs(st))
		walk_thread(st, p, tgid);
	st->hash ^= (__u64)WAKER_STACK << 56;
	finish_key(st);
	return !st->py.lost && send_stack(st) ? st->hash : 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(at_waking, struct task_struct *woken)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct walk_state *st;
	struct waiter *t;
	__u64 id, now = 0;

	t = waiter_of(woken, address_through(wakings[cpu & (MAX_CPUS - 1)].address, woken));
	if (!t || !will_be_drawn(t, &now)) /* as most of them */
		return 0;
	id = bpf_get_current_pid_tgid();
	t->waker_tgid = id >> 32;
	t->waker_tid = (__u32)id;
	t->waker_key = 0;
	t->woken_ns = now;
	bpf_get_current_comm(t->waker_comm, COMM_SIZE);
	t->is_woken = 1;
	st = bpf_map_lookup_elem(&states, &cpu);
	if (!st || (callers_only && !task_is_readable((void *)bpf_get_current_task_btf())))
		return 0;
	t->waker_key = send_waker(ctx, st, id >> 32);
	if (!t->waker_key)
		count(COUNTER_LOST);
	return 0;
}
