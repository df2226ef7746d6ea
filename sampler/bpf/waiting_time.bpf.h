/*
 * Where the time of a thread goes: on a CPU, runnable, or waiting. Every switch closes one interval
 * and opens the next with the same reading of the clock, so the sums of a thread add up to the time
 * that it was watched. Whether a wait is sampled is decided when it ends: a wait of at least
 * period_ns is, and weighs what it took; shorter waits run along a line with a point in each
 * stretch of period_ns, and a wait that crosses a point weighs what the point stands for.
 */
#ifndef SPROF_WAITING_TIME_BPF_H
#define SPROF_WAITING_TIME_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/wait_facts.bpf.h"
#include "sampler/bpf/waiters.bpf.h"

/* The recorder reads and writes these while it runs. */
__u64 period_ns;
__u64 end_ns;	/* not 0: the recording is over, and switches count no more */
__u64 nr_drawn; /* waits that were to be sampled */
__u64 busy_ns;	/* when a CPU last spent more than a third of its budget on samples */

#define BUDGET_WINDOW_NS 100000000u
/* Of one CPU's samples: their number, and the time they take. With more, period_ns is doubled. */
const volatile __u32 max_in_window, max_ns_in_window;
#define MAX_COUNTED_NS 100000u /* of a sample: the host may have had the CPU in between */

/* A bit for each tgid, modulo their number: threads of others are turned away by it. */
#define WATCHED_BITS 65536u
__u64 watched[WATCHED_BITS / 64];

/* The wait that was drawn at the last switch on this CPU, until its stack is walked. */
struct drawn_wait {
	__u64 weight; /* 0: none */
	__u64 off_ns;
	__u64 runnable_ns; /* the part of the weight in which it was runnable */
	__u32 tid, state;
	__u64 window_ns;
	__u32 nr_in_window, ns_in_window;
	struct wait_facts facts;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct drawn_wait);
} drawn_waits SEC(".maps");

static __always_inline struct drawn_wait *this_cpus_wait(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&drawn_waits, &zero);
}

static __always_inline bool may_be_watched(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (system_wide)
		return tgid && !(task->flags & PF_KTHREAD);
	return watched[tgid >> 6 & (WATCHED_BITS / 64 - 1)] >> (tgid & 63) & 1;
}

static __always_inline __u64 run_delay_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info) ? task->sched_info.run_delay : 0;
}

static __noinline bool group_is_throttled(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq->throttle_count) &&
	       BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___throttled *one = (void *)task;

	if (bpf_core_field_exists(one->throttled))
		return one->throttled;
	return group_is_throttled(task);
}

/* `state`: its __state; 0 if it is preempted. */
static __always_inline __u32 wait_state_of(struct task_struct *task, __u32 state)
{
	if (!state)
		return is_throttled(task) ? WAIT_THROTTLED : WAIT_PREEMPTED;
	if (state & TASK_STOPPED_OR_TRACED)
		return WAIT_STOPPED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return WAIT_IO;
	return state & TASK_UNINTERRUPTIBLE ? WAIT_UNINTERRUPTIBLE : WAIT_SLEEP;
}

/* Could the thread have run in all of such a wait? */
static __always_inline bool is_ready(__u32 state)
{
	return state == WAIT_PREEMPTED || state == WAIT_NEW || state == WAIT_THROTTLED;
}

/* How much of the last time off a CPU the thread was runnable, by the kernel's own count. */
static __always_inline __u64 runnable_part(const struct waiter *t, struct task_struct *task,
					   __u64 off_ns)
{
	__u64 queued = run_delay_of(task) - t->run_delay;

	if (is_ready(t->state) || queued > off_ns)
		return off_ns;
	return queued;
}

/* A number from 0 to span - 1; span is at most MAX_WAIT_PERIOD_NS. */
static __always_inline __u64 random_below(__u64 span)
{
	return span * (bpf_get_prandom_u32() >> 8) >> 24;
}

/* Begins the next stretch: its point lies anywhere in it. */
static __always_inline void next_point(struct points *p, __u64 period)
{
	__u64 at = random_below(period);

	p->left += (__s64)(p->rest + at);
	p->rest = period - at;
	p->weight = period;
}

/* Goes on to the point that lies ahead. Returns the weight of those before it. */
static __always_inline __u64 cross_points(struct points *p, __u64 period)
{
	__u64 weight = 0;

	if (!p->weight)
		next_point(p, period);
	for (int i = 0; i < 4 && p->left < 0; i++) {
		weight += p->weight;
		next_point(p, period);
	}
	return weight;
}

/* Out of the way of switches, few of which end a wait that is sampled. */
static __noinline __u64 cross_seldom(struct points *p, __u64 period)
{
	return cross_points(p, period);
}

static __always_inline __u64 current_period(void)
{
	return *(volatile __u64 *)&period_ns;
}

/* Returns the weight of the sample of a wait of `ns`; 0: it is not sampled. */
static __always_inline __u64 draw(struct points *p, __u64 ns)
{
	__u64 period = current_period();

	if (ns >= period)
		return ns;
	p->left -= (__s64)ns;
	return p->left < 0 ? cross_seldom(p, period) : 0;
}

/* The same of a wait that has not ended; the points are a copy, on the stack. */
static __always_inline __u64 draw_last(struct points *p, __u64 ns)
{
	__u64 period = current_period();

	if (ns >= period)
		return ns;
	p->left -= (__s64)ns;
	return cross_points(p, period);
}

/* Charges this CPU for a sample. */
static __always_inline void charge_sample(struct drawn_wait *c, __u64 now, __u64 ns)
{
	if (ns > MAX_COUNTED_NS)
		ns = MAX_COUNTED_NS;
	c->ns_in_window += ns;
	if (c->ns_in_window > max_ns_in_window / 3 || c->nr_in_window > max_in_window / 3)
		busy_ns = now;
}

/*
 * Doubles the period if this CPU takes too many samples, or spends too much time on them. The
 * recorder does so if there are too many of all CPUs, and lowers it again when none is busy.
 */
static __always_inline void keep_budget(struct drawn_wait *c, __u64 now)
{
	__sync_fetch_and_add(&nr_drawn, 1);
	if (now - c->window_ns > BUDGET_WINDOW_NS) {
		c->window_ns = now;
		c->nr_in_window = c->ns_in_window = 0;
	}
	if (++c->nr_in_window <= max_in_window && c->ns_in_window <= max_ns_in_window)
		return;
	c->nr_in_window = c->ns_in_window = 0;
	if (period_ns <= MAX_WAIT_PERIOD_NS / 2)
		period_ns *= 2;
}

/*
 * Divides the last time off a CPU. To be called while the thread runs, or as it is switched from.
 */
static __always_inline void divide_wait(struct waiter *t, struct task_struct *task)
{
	__u64 queued = runnable_part(t, task, t->off_ns);

	t->runnable_ns += queued;
	t->waiting_ns += t->off_ns - queued;
	t->off_ns = 0;
}

static __always_inline void fill_thread_event(struct thread_event *e, const struct waiter *t,
					      struct task_struct *task, __u64 now)
{
	e->header.type = EVENT_THREAD;
	e->header.cpu = 0;
	e->header.tgid = task->tgid;
	e->header.time_ns = now;
	e->start_ns = t->start_ns;
	e->wall_ns = now - t->start_ns;
	e->cpu_ns = t->cpu_ns;
	e->runnable_ns = t->runnable_ns;
	e->waiting_ns = t->waiting_ns;
	e->nr_waits = t->nr_waits;
	e->tid = task->pid;
	e->goes_on = 0;
	bpf_probe_read_kernel(e->comm, COMM_SIZE, task->comm);
}

/*
 * The switch to a new thread was not told (end_untold_wait()): until then it was runnable. Such a
 * switch has no end that could be seen, as the thread comes to life elsewhere.
 */
static __always_inline void begin_untold_run(struct waiter *t, struct task_struct *task, __u64 now)
{
	__u64 off = now - t->start_ns, queued = run_delay_of(task);

	if (t->state != WAIT_NEW || t->in_ns || t->out_ns)
		return;
	t->off_ns = queued < off ? queued : off;
	t->in_ns = t->start_ns + t->off_ns;
}

/* The running thread is switched from, or ends. */
static __always_inline void end_run(struct waiter *t, struct task_struct *task, __u64 now)
{
	begin_untold_run(t, task, now);
	divide_wait(t, task);
	if (t->in_ns)
		t->nr_waits++;
	t->cpu_ns += now - (t->in_ns ? t->in_ns : t->out_ns ? t->out_ns : t->start_ns);
	t->in_ns = 0;
	t->out_ns = now;
}

static __always_inline void send_thread(const struct waiter *t, struct task_struct *task, __u64 now)
{
	struct thread_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);

	if (!e) {
		count(COUNTER_LOST);
		return;
	}
	fill_thread_event(e, t, task, now);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* `state` as for wait_state_of(). */
static __always_inline void switched_from(struct task_struct *task, struct waiter *t, __u32 state,
					  __u64 now)
{
	end_run(t, task, now);
	t->state = wait_state_of(task, state);
	t->is_woken = 0;
	t->run_delay = run_delay_of(task);
	t->switches = task->nvcsw + task->nivcsw;
	t->holder = t->state == WAIT_SLEEP ? holder_of_lock(task, state) : 0;
}

/* Ends the wait of the thread that is switched to. Returns its weight if it is to be sampled. */
static __always_inline __u64 switched_to(struct waiter *t, __u64 now)
{
	t->off_ns = now - (t->out_ns ? t->out_ns : t->in_ns ? now : t->start_ns);
	if (t->in_ns) /* the switch from it was not told */
		t->nr_waits++;
	t->out_ns = 0;
	t->in_ns = now;
	return draw(&t->points, t->off_ns);
}

#endif
