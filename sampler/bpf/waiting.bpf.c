// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Waits of threads, for sprof record --clock wall|off. At a switch nothing is walked: the run queue
 * is locked, interrupts are off, and most waits are not sampled. A wait that is drawn is walked
 * when the switch is over, in the context of the thread that waited. That walk can be interrupted
 * by a tick of sprof.bpf.c, so this object has its own scratch memory (walk states, buffers, known
 * code objects, root ends), and shares the tables and the ring with the other.
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
#include "sampler/bpf/left_stack.bpf.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/python.bpf.h"
#include "sampler/bpf/snapshot.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/thread_stack.bpf.h"
#include "sampler/bpf/waiting_threads.bpf.h"
#include "sampler/bpf/waiting_time.bpf.h"
#include "sampler/bpf/waiting_x86_64.bpf.h"
#include "sampler/bpf/walker.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/*
 * By CPU, modulo their number. It is looked at after each switch of the machine, so it is no map,
 * and each CPU has a cache line. Two CPUs with the same place may lose a sample, which is counted.
 */
struct last_switch {
	__u64 has_drawn; /* not 0: a wait was drawn there */
	__u64 is_told;	 /* at_switch() saw the switch to a watched thread, which has not ended */
	__u64 address;	 /* of a thread: address_through() */
	__u64 unused[5];
};
static struct last_switch last_switches[MAX_CPUS]; /* not for the recorder */

static __always_inline struct last_switch *last_switch(void)
{
	return &last_switches[bpf_get_smp_processor_id() & (MAX_CPUS - 1)];
}

/* ---- after the wait */

/*
 * An interrupt to the own CPU may come late, when the thread goes on already and uses its stack, so
 * known frames are taken only at the end of a switch.
 */
static __always_inline void take_kernel_frames(void *ctx, struct walk_state *st)
{
	__u32 left = interrupts_itself ? 0 : copy_left_stack(st);
	long bytes;

	if (left && take_left_frames(st, left))
		return;
	bytes = bpf_get_stack(ctx, st->frames, MAX_KERNEL_FRAMES * 8, 0);
	st->event.nr_kernel = bytes > 0 ? ((__u64)bytes >> 3) & 127 : 0;
	if (left && find_places(st, left))
		keep_frames(st);
}

static __always_inline bool take_waiters_context(void *ctx, struct walk_state *st)
{
	take_kernel_frames(ctx, st);
	st->event.in_kernel = 1;
	return take_user_regs(st);
}

/* As the functions below, not inlined: the functions of a walk and their caller share 512 bytes. */
static __noinline int send_wait(struct walk_state *st, const struct drawn_wait *c)
{
	struct wait_event *e;

	if (!send_stack(st))
		return 0;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e)
		return 0;
	begin_sample(&e->sample, st, EVENT_WAIT, c->weight);
	e->runnable_ns = c->runnable_ns;
	e->facts = c->facts;
	bpf_ringbuf_submit(e, wakeup_flag());
	return 1;
}

/* Puts the facts of the wait where send_snapshot() builds the record. */
static __noinline int give_facts(const struct wait_facts *facts)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct snapshot_buffer *s = bpf_map_lookup_elem(&snapshots, &cpu);

	if (s)
		s->event.facts = *facts;
	return 0;
}

/*
 * Walks and sends the stack of the running thread, which has waited. 0: it is lost. The wait's
 * numbers stay in memory: the functions of a walk share 512 bytes of stack.
 */
static __always_inline int sample_wait(void *ctx, struct walk_state *st, const struct drawn_wait *c)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct process_entry *p = bpf_map_lookup_elem(&processes, &tgid);

	begin_stack(st, tgid);
	if (take_waiters_context(ctx, st)) {
		if (!p && system_wide)
			p = add_process(tgid);
		walk_thread(st, p, tgid);
		if (wants_snapshot(st, p)) {
			__u32 end = st->end;

			if (take_waiters_context(ctx, st)) {
				st->end = end;
				if (st->python)
					send_python(st);
				give_facts(&c->facts);
				if (send_snapshot(st, c->weight, c->runnable_ns)) {
					count_snapshot(st, p);
					return 1;
				}
				/* The frames that were walked have made room for Python's. */
				st->py.lost = st->python != 0;
			}
			st->end = end;
		}
	}
	st->hash ^= (__u64)st->event.wait << 56;
	finish_key(st);
	return !st->py.lost && send_wait(st, c);
}

#define FIRST_SAMPLES 16 /* of a thread, which are divided as they are */

/*
 * What the runnable parts of a thread's samples should add up to: the exact part of its time off a
 * CPU, of the time that its samples stand for.
 */
static __always_inline __u64 should_be_runnable(const struct waiter *t, const struct drawn_wait *c,
						__u64 queued)
{
	__u64 runnable = t->runnable_ns + queued;
	__u64 off = t->runnable_ns + t->waiting_ns + c->off_ns, told = t->told_ns + c->weight;
	__u64 distance = told < off ? off - told : told - off, share;

	share = off >> 44 ? (runnable >> 16) / ((off >> 32) | 1) : (runnable << 16) / (off | 1);
	if (distance >> 40)
		return runnable;
	distance = distance * share >> 16;
	if (told >= off)
		return runnable + distance;
	return runnable > distance ? runnable - distance : 0;
}

/*
 * Divides the weight of a short wait as the wait itself, then moves the result a little towards the
 * thread's exact sum. The waits that a sample stands for are divided each in another way, so the
 * parts of samples alone would stray from that sum by the square root of their number. The longer
 * the runnable part, the more it is moved: stacks keep their shares of the thread's sum. That has
 * an effect on the sum of a few samples, so that short-lived threads would be wrong together: their
 * parts stay as they are.
 */
static __always_inline __u64 divide_short(const struct waiter *t, const struct drawn_wait *c,
					  __u64 queued)
{
	__u64 part = c->weight * queued / (c->off_ns | 1); /* both factors are below 2^32 */
	__u64 should = should_be_runnable(t, c, queued), told = t->told_runnable_ns + part;
	__u64 distance = told < should ? should - told : told - should;

	if (t->nr_told < FIRST_SAMPLES)
		return part;
	if (distance > 8 * c->weight)
		distance = 8 * c->weight;
	distance = part * distance / (2 * c->weight);
	if (told < should)
		part += distance;
	else
		part = part < distance ? 0 : part - distance;
	return part < c->weight ? part : c->weight;
}

static __noinline int divide_weight(struct waiter *t, struct drawn_wait *c, __u64 queued)
{
	if (queued == c->off_ns)
		c->runnable_ns = c->weight;
	else if (c->weight == c->off_ns)
		c->runnable_ns = queued;
	else
		c->runnable_ns = divide_short(t, c, queued);
	t->told_runnable_ns += c->runnable_ns;
	t->told_ns += c->weight;
	t->nr_told++;
	return 0;
}

static __noinline int fill_facts(struct wait_facts *f, const struct waiter *t,
				 struct task_struct *task, __u64 off_ns)
{
	__builtin_memset(f, 0, sizeof(*f));
	f->off_ns = off_ns;
	f->holder = t->holder;
	if (t->is_woken) {
		f->waker_key = t->waker_key;
		f->woken_ns = t->woken_ns;
		f->waker_tgid = t->waker_tgid;
		f->waker_tid = t->waker_tid;
		__builtin_memcpy(f->waker_comm, t->waker_comm, sizeof(f->waker_comm));
	}
	if (!is_ready(t->state))
		add_call_facts(f, task, MEMORY_MAPPED);
	return 0;
}

/* Samples the wait that was drawn when the running thread was switched to, if one was. */
static __always_inline int take_wait(void *ctx)
{
	struct last_switch *last = last_switch();
	__u32 cpu = bpf_get_smp_processor_id();
	struct task_struct *task;
	struct drawn_wait *c;
	struct walk_state *st;
	struct waiter *t;
	__u64 start, now;

	if (!last->has_drawn)
		return 0;
	c = this_cpus_wait();
	if (!c || !c->weight)
		return 0;
	last->has_drawn = 0;
	start = bpf_ktime_get_ns();
	task = bpf_get_current_task_btf();
	t = c->tid == (__u32)bpf_get_current_pid_tgid()
		    ? waiter_of(task, address_through(&last->address, task))
		    : NULL;
	st = bpf_map_lookup_elem(&states, &cpu);
	if (!t || !st) {
		count(COUNTER_LOST);
	} else if (!callers_only || task_is_readable((void *)task)) {
		divide_weight(t, c, runnable_part(t, task, c->off_ns));
		st->event.wait = c->state;
		fill_facts(&c->facts, t, task, c->off_ns);
		if (!sample_wait(ctx, st, c))
			count(COUNTER_LOST);
	}
	c->weight = 0;
	now = bpf_ktime_get_ns();
	charge_sample(c, now, now - start);
	return 0;
}

/* ---- the switch */

/*
 * A new thread comes to life in a place of its own, not at the end of a switch, and has no stack
 * that could say anything: its wait for a first CPU is a sample without frames.
 */
static __always_inline void send_first_wait(struct task_struct *task, __u64 weight, __u64 now)
{
	struct stack_event stack = {
		.header = { .type = EVENT_STACK, .tgid = task->tgid, .time_ns = now },
		.key = (__u64)WAIT_NEW << 56 | 1,
		.end = END_NO_USER,
		.wait = WAIT_NEW,
	};
	struct wait_event *e;

	if (callers_only && !task_is_readable((void *)task))
		return;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e || bpf_ringbuf_output(&ring, &stack, sizeof(stack), BPF_RB_NO_WAKEUP)) {
		if (e)
			bpf_ringbuf_discard(e, BPF_RB_NO_WAKEUP);
		count(COUNTER_LOST);
		return;
	}
	e->sample.header = stack.header;
	e->sample.header.type = EVENT_WAIT;
	e->sample.key = stack.key;
	e->sample.weight_ns = e->runnable_ns = weight;
	e->sample.tid = task->pid;
	e->sample.gil = 0;
	e->sample.event = 0;
	e->sample.running = 0;
	bpf_probe_read_kernel(e->sample.comm, COMM_SIZE, task->comm);
	__builtin_memset(&e->facts, 0, sizeof(e->facts));
	e->facts.off_ns = weight;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* The wait of `task` is to be sampled. 1: it is to be walked. */
static __noinline int add_drawn(struct task_struct *task, struct waiter *t, __u64 weight, __u64 now)
{
	struct drawn_wait *c = this_cpus_wait();

	if (!c)
		return 0;
	keep_budget(c, now);
	if (t->state == WAIT_NEW) {
		t->told_ns = t->told_runnable_ns = weight;
		send_first_wait(task, weight, now);
		return 0;
	}
	if (c->weight)
		count(COUNTER_LOST);
	c->weight = weight;
	c->off_ns = t->off_ns;
	c->tid = task->pid;
	c->state = t->state;
	last_switch()->has_drawn = 1;
	return 1;
}

/* Ends the wait of `task`. true: it is to be walked. */
static __always_inline bool end_wait(struct task_struct *task, struct waiter *t, __u64 now)
{
	__u64 weight = switched_to(t, now);

	return weight && add_drawn(task, t, weight, now);
}

/* `state`: the __state of `prev`; 0 if it is preempted. */
static __always_inline int on_switch(void *ctx, struct task_struct *prev, struct task_struct *next,
				     __u32 state)
{
	bool from = may_be_watched(prev), to = may_be_watched(next);
	struct last_switch *last = last_switch();
	struct waiter *t;
	__u64 now;

	if ((!from && !to) || end_ns)
		return 0;
	now = bpf_ktime_get_ns();
	if (from) {
		t = waiter_at(prev, address_through(&last->address, prev), now);
		if (t)
			switched_from(prev, t, state, now);
	}
	t = to ? waiter_at(next, address_through(&last->address, next), now) : NULL;
	if (!t)
		return 0;
	/* The switch to a new thread has no end. */
	last->is_told = t->state != WAIT_NEW;
	if (end_wait(next, t, now) && interrupts_itself)
		interrupt_self(ctx);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempted, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	return on_switch(ctx, prev, next, preempted ? 0 : state);
}

/* Before Linux 5.18 the tracepoint does not say the state. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(at_switch_without_state, bool preempted, struct task_struct *prev,
	     struct task_struct *next)
{
	return on_switch(ctx, prev, next, preempted ? 0 : prev->__state);
}

/*
 * Some kernels do not tell of switches away from certain threads. The thread that was switched to
 * is here all the same, with a wait that has not ended.
 */
static __noinline int end_untold_wait(struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	struct waiter *t = waiter_at(task, read_address(task), now);

	if (t && !t->in_ns && (t->out_ns || !t->began_on_cpu))
		end_wait(task, t, now);
	return 0;
}

SEC("?tp_btf/sched_exit_tp")
int BPF_PROG(after_switch, bool is_switch)
{
	struct last_switch *last = last_switch();
	struct task_struct *task;

	if (last->is_told) {
		last->is_told = 0;
	} else if (is_switch && !end_ns) {
		task = bpf_get_current_task_btf();
		if (may_be_watched(task))
			end_untold_wait(task);
	}
	return take_wait(ctx);
}
