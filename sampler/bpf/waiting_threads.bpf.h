/*
 * Threads at the beginning and at the end of a recording. A thread that is blocked then is switched
 * neither to nor from, so the kernel's list of threads is gone through: at the beginning every
 * thread of a target begins to be watched, and at the end each says how it spent its time, and what
 * it still waits for. New threads are watched from their creation on.
 */
#ifndef SPROF_WAITING_THREADS_BPF_H
#define SPROF_WAITING_THREADS_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/regs_x86_64.bpf.h"
#include "sampler/bpf/snapshot.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/waiting_time.bpf.h"

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

static __always_inline bool is_target_process(__u32 tgid)
{
	return system_wide || bpf_map_lookup_elem(&processes, &tgid);
}

/* Begins to watch a thread unless it is watched already. false: there is no memory for it. */
static __always_inline bool watch_thread(struct task_struct *task)
{
	struct waiter *t = make_waiter(task);

	if (!t || t->start_ns)
		return t;
	t->state = wait_state_of(task, task->__state);
	t->run_delay = run_delay_of(task);
	t->switches = task->nvcsw + task->nivcsw;
	t->began_on_cpu = task->on_cpu;
	t->start_ns = bpf_ktime_get_ns(); /* last: from here on its switches count */
	return true;
}

/* Begins to watch all threads of targets that are not watched yet. */
SEC("iter/task")
int watch_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || !may_be_watched(task) || (!system_wide && !find_target(task->tgid)) ||
	    (task->flags & PF_EXITING))
		return 0;
	watch_thread(task);
	/* It may have ended meanwhile, before unwatch_thread() could find it. */
	if (task->flags & PF_EXITING)
		free_place(read_address(task));
	return 0;
}

/*
 * The program that sprof starts is watched from its exec on. Its process is known, whether or not
 * the main object has already noted the exec.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(watch_started_program, struct task_struct *task)
{
	if (!end_ns && may_be_watched(task) && is_target_process(task->tgid) && !watch_thread(task))
		count(COUNTER_LOST);
	return 0;
}

/* The child is not on a run queue yet. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(watch_new_thread, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, tgid = child->tgid;
	struct waiter *t;

	if (end_ns || !may_be_watched(parent) || !is_target_process(parent_tgid) ||
	    (no_children && parent_tgid != tgid))
		return 0;
	if (!system_wide && parent_tgid != tgid)
		__sync_fetch_and_or(&watched[tgid >> 6 & (WATCHED_BITS / 64 - 1)],
				    1ull << (tgid & 63));
	t = make_waiter(child);
	if (!t) {
		count(COUNTER_LOST);
		return 0;
	}
	t->state = WAIT_NEW;
	t->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- the end */

#define LAST_STACK_BYTES 16384 /* copied of each stack */

/* Adds what the thread does until then. Returns how long it has waited, or 0. */
static __always_inline __u64 add_last_interval(struct waiter *t, struct task_struct *task,
					       __u64 until)
{
	__u64 since = t->out_ns ? t->out_ns : t->start_ns;
	bool runs = t->in_ns || (!t->out_ns && t->began_on_cpu);

	divide_wait(t, task);
	if (t->in_ns) {
		since = t->in_ns;
		t->nr_waits++;
	}
	if (since >= until)
		return 0;
	if (runs)
		t->cpu_ns += until - since;
	else if (is_ready(t->state))
		t->runnable_ns += until - since;
	else
		t->waiting_ns += until - since;
	return runs ? 0 : until - since;
}

/* Returns whether the thread's times are to be told now; they are those of `*last` at *ret_ns. */
static __always_inline bool close_times(struct waiter *last, struct task_struct *task,
					__u64 *ret_ns)
{
	if (!end_ns) {
		end_run(last, task, bpf_ktime_get_ns());
		*ret_ns = last->out_ns;
		return true;
	}
	if (last->start_ns >= end_ns)
		return false;
	add_last_interval(last, task, end_ns);
	*ret_ns = end_ns;
	return true;
}

/*
 * A thread ends. Its last switch comes later, when its parent may have seen it end already and the
 * recording may be over. If it is over already, the walk of the list may come too late for the
 * thread. Of one that is told twice the recording keeps one row.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(unwatch_thread, struct task_struct *task)
{
	struct waiter *t, last;
	__u64 address, now;

	if (!may_be_watched(task))
		return 0;
	address = read_address(task);
	t = find_waiter(task, address);
	if (!t) {
		/*
		 * Before Linux 6.2 nothing is found while a thread that was preempted on this CPU
		 * is in the middle of such a search.
		 */
		if (!end_ns)
			count(COUNTER_LOST);
		return 0;
	}
	last = *t;
	if (!last.start_ns)
		return 0;
	t->start_ns = 0; /* from here on its switches do not count */
	if (close_times(&last, task, &now))
		send_thread(&last, task, now);
	if (!end_ns) /* the others are being told */
		free_place(address);
	return 0;
}

/* Fills in the registers that the thread entered the kernel with. false: it has none. */
static __always_inline bool fill_last_regs(struct snapshot_event *e, struct task_struct *task)
{
	struct pt_regs user;
	struct walk_regs regs = { 0 };

	if (!task->mm ||
	    bpf_probe_read_kernel(&user, sizeof(user), (void *)bpf_task_pt_regs(task)) ||
	    !regs_are_user(&user))
		return false;
	take_regs(&regs, &user);
	e->pc = regs.pc;
	e->exact = regs_pc_is_exact(&user);
	e->stack_start = regs.sp;
	__builtin_memcpy(e->gpr, regs.gpr, sizeof(e->gpr));
	return true;
}

/* Copies whole pages of the stack, up to the first that cannot be read. */
static __always_inline void copy_last_stack(struct snapshot_buffer *b, struct task_struct *task)
{
	struct snapshot_event *e = &b->event;

	for (int i = 0; i < LAST_STACK_BYTES / 4096 + 1; i++) {
		__u32 done = e->stack_size;
		__u32 chunk = 4096 - ((e->stack_start + done) & 4095);

		if (done > LAST_STACK_BYTES - 4096)
			break;
		if (read_memory(task, MEMORY_COPIED, b->stack + done, chunk & 8191,
				e->stack_start + done))
			break;
		e->stack_size = done + chunk;
	}
}

/* Has the thread been in one wait from the end of the recording until now? */
static __always_inline bool still_waits(const struct waiter *t, struct task_struct *task)
{
	return !task->on_cpu && t->switches == task->nvcsw + task->nivcsw;
}

static __always_inline void fill_last_wait(struct snapshot_buffer *b, const struct waiter *t,
					   struct task_struct *task, __u64 weight, bool may_sleep)
{
	struct snapshot_event *e = &b->event;

	e->sample.header.type = EVENT_SNAPSHOT;
	e->sample.header.cpu = 0;
	e->sample.header.tgid = task->tgid;
	e->sample.header.time_ns = end_ns;
	e->sample.key = is_ready(t->state) ? weight : 0;
	e->sample.weight_ns = weight;
	e->sample.tid = task->pid;
	e->sample.gil = 0;
	e->sample.event = 0;
	e->sample.running = 0;
	bpf_probe_read_kernel(e->sample.comm, COMM_SIZE, task->comm);
	e->exec_id = (__u32)task->self_exec_id;
	e->nr_kernel = 0;
	e->end = END_PENDING;
	e->exact = 0;
	e->in_kernel = 0;
	e->wait = t->state;
	e->stack_size = 0;
	e->stack_start = 0;
	e->pc = 0;
	__builtin_memset(e->gpr, 0, sizeof(e->gpr));
	__builtin_memset(&e->facts, 0, sizeof(e->facts));
	e->facts.holder = t->holder;
	e->thread_pointer = TASK_THREAD_POINTER(task);
	e->switches = t->switches;
	add_call_facts(&e->facts, task, may_sleep ? MEMORY_COPIED : MEMORY_NOT);
}

/* Tells of a wait that goes on at the end, with its stack if it can be read. */
static __always_inline void tell_last_wait(struct seq_file *seq, struct task_struct *task,
					   struct waiter *t, __u64 ns, bool stacks)
{
	struct snapshot_buffer *b;
	__u32 zero = 0, size;
	__u64 weight = draw_last(&t->points, ns);
	long bytes;

	b = weight ? bpf_map_lookup_elem(&snapshots, &zero) : NULL;
	if (!b)
		return;
	fill_last_wait(b, t, task, weight, stacks);
	b->event.facts.off_ns = ns;
	if (fill_last_regs(&b->event, task) && stacks)
		copy_last_stack(b, task);
	bytes = bpf_get_task_stack(task, b->event.kernel, sizeof(b->event.kernel), 0);
	if (bytes > 0) {
		b->event.nr_kernel = (__u64)bytes >> 3;
		b->event.in_kernel = 1;
	}
	if (!still_waits(t, task)) { /* what was read is of another moment */
		b->event.nr_kernel = b->event.in_kernel = 0;
		b->event.stack_size = 0;
		b->event.pc = 0;
		b->event.thread_pointer = 0;
		__builtin_memset(&b->event.facts, 0, sizeof(b->event.facts));
	}
	size = b->event.stack_size;
	if (size <= LAST_STACK_BYTES)
		bpf_seq_write(seq, b, sizeof(b->event) + size);
}

/* ---- the end of a segment */

#define COPIES 4

/*
 * Copies what is known of a thread that may be switched meanwhile, as of *ret_ns. A copy is of one
 * moment if its sums reach to its last switch. Those of a thread of which a switch was missed never
 * do: two equal copies will do, too. There is no copy of what belongs to another thread by now.
 */
static __always_inline bool copy_times(const struct waiter *kept, __u64 address, struct waiter *ret,
				       __u64 *ret_ns)
{
	__u64 before = 0;

	for (int i = 0; i < COPIES; i++) {
		__u64 now = bpf_ktime_get_ns(), last, sums;

		if (bpf_probe_read_kernel(ret, sizeof(*ret), kept) || !ret->start_ns ||
		    ret->task != address || *(const volatile __u64 *)&kept->task != address)
			return false;
		last = ret->in_ns ? ret->in_ns : ret->out_ns ? ret->out_ns : ret->start_ns;
		sums = ret->start_ns + ret->cpu_ns + ret->runnable_ns + ret->waiting_ns +
		       ret->off_ns;
		if (last <= now && (sums == last || sums == before)) {
			*ret_ns = now;
			return true;
		}
		before = sums;
	}
	return false;
}

/* Is told of by what runs through the list of threads. */
static __always_inline struct waiter *told_waiter(struct task_struct *task)
{
	struct waiter *t =
		task && may_be_watched(task) ? waiter_of(task, read_address(task)) : NULL;

	return t && (!callers_only || task_is_readable((void *)task)) ? t : NULL;
}

/*
 * A thread tells what it did so far. Where it is switched just then, the copy may lack that switch:
 * the next segment corrects what this one gets.
 */
SEC("iter/task")
int tell_times(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	const struct waiter *kept = told_waiter(task);
	struct thread_event e;
	struct waiter t;
	__u64 now;

	if (!kept || !copy_times(kept, read_address(task), &t, &now))
		return 0;
	add_last_interval(&t, task, now);
	fill_thread_event(&e, &t, task, now);
	e.goes_on = 1;
	bpf_seq_write(ctx->meta->seq, &e, sizeof(e));
	return 0;
}

/* ---- the end of the recording, for all threads */

/*
 * The kernel runs this again for a thread whose records did not fit into its buffer any more, so
 * nothing of the thread is changed.
 */
static __always_inline int tell_thread(struct bpf_iter__task *ctx, bool stacks)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	const struct waiter *kept = told_waiter(task);
	struct thread_event e;
	struct waiter t;
	__u64 waits_ns;

	if (!kept)
		return 0;
	t = *kept;
	if (!t.start_ns || t.start_ns >= end_ns)
		return 0;
	waits_ns = add_last_interval(&t, task, end_ns);
	fill_thread_event(&e, &t, task, end_ns);
	if (bpf_seq_write(seq, &e, sizeof(e)))
		return 0;
	if (waits_ns)
		tell_last_wait(seq, task, &t, waits_ns, stacks);
	return 0;
}

/*
 * From Linux 5.18 on; before, the stacks of those waits are left out. Whoever reads this iterator
 * may have to wait for ever (is_quick_to_read).
 */
SEC("?iter.s/task")
int tell_threads_with_stacks(struct bpf_iter__task *ctx)
{
	return tell_thread(ctx, true);
}

SEC("iter/task")
int tell_threads(struct bpf_iter__task *ctx)
{
	return tell_thread(ctx, false);
}

#endif
