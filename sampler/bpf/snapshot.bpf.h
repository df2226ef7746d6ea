/*
 * Sends a sample that cannot be walked here as registers and stack bytes, for the recorder to
 * unwind. The record is built in a buffer of each CPU, because only the filled part of it goes into
 * the ring.
 */
#ifndef SPROF_SNAPSHOT_BPF_H
#define SPROF_SNAPSHOT_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/regs_x86_64.bpf.h"
#include "sampler/bpf/task.h"

/* How many bytes of stack lie above sp; SNAPSHOT_DEFAULT where its end is not known. */
static __always_inline __u64 stack_bytes(__u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 top = BPF_CORE_READ(task, mm, start_stack);

	/* Main thread: the arguments and the environment begin at start_stack. */
	if (top > sp && top - sp <= (16 << 20))
		return top - sp + 64;
	top = TASK_THREAD_POINTER(task);
	if (top > sp && top - sp <= (64 << 20))
		return top - sp;
	return SNAPSHOT_DEFAULT;
}

struct snapshot_buffer {
	struct snapshot_event event;
	__u8 stack[SNAPSHOT_MAX];
};

/* One per CPU. Not a per-CPU array: those hold 32 KiB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct snapshot_buffer));
} snapshots SEC(".maps");

/*
 * Copying is expensive: has that part of the ring room for a snapshot, beside what is in the ring?
 * The rest is for samples: the recorder may be late.
 */
static __always_inline bool has_room_for_snapshot(__u64 parts)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) + sizeof(struct snapshot_buffer) <=
	       bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / parts;
}

/* A process without a table sends more than the first ones only if the recorder keeps up. */
static __always_inline bool may_send_snapshot(const struct process_entry *p)
{
	if (p->nr_snapshots >= MAX_SNAPSHOTS)
		return false;
	if (p->nr_maps || p->nr_snapshots < MAX_FIRST_SNAPSHOTS)
		return has_room_for_snapshot(2);
	return has_room_for_snapshot(4);
}

/* The recorder adds to it all the time, and unwinding a snapshot costs it 0.1 ms. */
__s32 copies_left;

/* Is there a snapshot left for code whose rows take too much memory? CPUs may take the same one. */
static __always_inline bool may_copy(struct walk_state *st)
{
	if (copies_left <= 0 || !has_room_for_snapshot(2) ||
	    (st->budget.left < 0 && is_over(st, walk_ns))) {
		count(COUNTER_NOT_COPIED);
		return false;
	}
	copies_left--;
	return true;
}

/* Is the stack to be sent as a snapshot? If there is no room for one, its frames are sent. */
static __always_inline bool wants_snapshot(struct walk_state *st, struct process_entry *p)
{
	if (st->end == END_COPIED)
		return p && may_copy(st);
	if (st->end != END_NO_MAP && st->end != END_PENDING && st->end != END_NEED_DWARF &&
	    st->end != END_NO_TABLE)
		return false;
	if (st->budget.left < 0 && is_over(st, walk_ns))
		return false;
	return p && may_send_snapshot(p);
}

/* A process has so many while its rows are not ready; others have a limit of their own. */
static __always_inline void count_snapshot(const struct walk_state *st, struct process_entry *p)
{
	if (st->end != END_COPIED)
		p->nr_snapshots++;
}

/*
 * Copies the next bytes of the stack at `from`, up to the end of a page. 0: there may be more; else
 * `want` bytes have been copied, or the page is not mapped, or the sample's budget is spent.
 */
__noinline int copy_page(struct walk_state *st, struct snapshot_buffer *to, __u64 from, __u64 want)
{
	__u64 done, chunk;

	if (!st || !to)
		return 1;
	done = st->copied;
	chunk = 4096 - ((from + done) & 4095);
	if (done >= want || done > SNAPSHOT_MAX - 4096)
		return 1;
	budget_charge(&st->budget, 4 * COST_KIB);
	if (st->budget.left < 0 && is_over(st, walk_ns))
		return 1;
	if (bpf_probe_read_user(to->stack + done, chunk, (void *)(from + done)))
		return 1;
	st->copied = done + chunk;
	return 0;
}

static __always_inline void copy_stack(struct walk_state *st, struct snapshot_buffer *to,
				       __u64 from, __u64 want)
{
	st->copied = 0;
	for (int i = 0; i < SNAPSHOT_MAX / 4096 + 1; i++)
		if (copy_page(st, to, from, want))
			break;
}

/*
 * Sends the sample as registers and stack bytes. To be called when st->regs are the leaf's: before
 * the walk, or after take_context() has been run again. `runnable_ns` is of a wait. 1 = sent.
 */
__noinline int send_snapshot(struct walk_state *st, __u64 weight, __u64 runnable_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct snapshot_buffer *s = bpf_map_lookup_elem(&snapshots, &cpu);
	__u64 start, want, copied;
	struct snapshot_event *e;
	char byte;

	if (!st)
		return 0;
	start = st->regs.sp;
	want = stack_bytes(start);
	if (!s)
		return 0;
	if (bpf_probe_read_user(&byte, 1, (void *)start)) {
		/*
		 * The sample hit a page fault on the stack itself: the leaf's page is not mapped
		 * yet.
		 */
		start = (start | 4095) + 1;
	}
	copy_stack(st, s, start, want);
	copied = st->copied;
	if (copied > SNAPSHOT_MAX)
		return 0;
	e = &s->event;
	e->sample.header = st->event.header;
	e->sample.header.type = EVENT_SNAPSHOT;
	e->sample.key = runnable_ns;
	e->sample.weight_ns = weight;
	e->sample.tid = (__u32)bpf_get_current_pid_tgid();
	e->sample.gil = st->py.gil;
	e->sample.event = st->number;
	e->sample.running = st->running;
	bpf_get_current_comm(e->sample.comm, COMM_SIZE);
	e->exec_id = (__u32)task->self_exec_id;
	e->nr_kernel = st->event.nr_kernel;
	e->end = st->end;
	e->exact = st->regs.exact;
	e->in_kernel = st->event.in_kernel;
	e->wait = st->event.wait;
	e->thread_pointer = e->switches = 0;
	e->pc = st->regs.pc;
	__builtin_memcpy(e->gpr, st->regs.gpr, sizeof(e->gpr));
	__builtin_memcpy(e->kernel, st->frames, sizeof(e->kernel));
	e->stack_start = start;
	e->stack_size = copied;
	return !bpf_ringbuf_output(&ring, s, sizeof(*e) + copied, BPF_RB_FORCE_WAKEUP);
}

#endif
