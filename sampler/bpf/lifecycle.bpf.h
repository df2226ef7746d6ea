/*
 * Keeps the map of processes right across fork, exec and exit, and reports these to the recorder.
 * It runs inside the kernel's own fork and exec, so a child can be walked from its first
 * instruction on.
 */
#ifndef SPROF_LIFECYCLE_BPF_H
#define SPROF_LIFECYCLE_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/task.h"

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	struct process_entry *p, copy;
	struct fork_event *e;

	if (no_children || parent_tgid == child_tgid)
		return 0;
	p = bpf_map_lookup_elem(&processes, &parent_tgid);
	if (!p)
		return 0;
	copy = *p;
	copy.exec_id = (__u32)BPF_CORE_READ(child, self_exec_id);
	if (p->exec_id != EXEC_ID_ANY && p->exec_id != copy.exec_id)
		copy.nr_maps = copy.table = 0;
	copy.nr_snapshots = 0;
	if (bpf_map_update_elem(&processes, &child_tgid, &copy, BPF_ANY))
		count(COUNTER_FORKS_DROPPED);
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		count(COUNTER_EVENTS_LOST);
		return 0;
	}
	fill_header(&e->header, EVENT_FORK, parent_tgid);
	e->child = child_tgid;
	e->exec_id = copy.exec_id;
	bpf_ringbuf_submit(e, wakeup_flag());
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct process_entry *p = bpf_map_lookup_elem(&processes, &tgid);
	struct exec_event *e;

	if (!p)
		return 0;
	p->nr_maps = p->table = 0;
	p->python = 0;
	p->exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
	p->nr_snapshots = 0;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		count(COUNTER_EVENTS_LOST);
		return 0;
	}
	fill_header(&e->header, EVENT_EXEC, tgid);
	e->exec_id = p->exec_id;
	e->pad = 0;
	/*
	 * Wakes the recorder, which publishes the new mappings before the program has run for long.
	 */
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct exit_event *e;

	if (BPF_CORE_READ(task, signal, live.counter) > 0 ||
	    !bpf_map_lookup_elem(&processes, &tgid))
		return 0;
	e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	if (!e) {
		count(COUNTER_EVENTS_LOST);
		return 0;
	}
	fill_header(&e->header, EVENT_EXIT, tgid);
	/*
	 * The entry stays, because tearing the process down takes time that is sampled too. The
	 * recorder removes it.
	 */
	bpf_ringbuf_submit(e, wakeup_flag());
	return 0;
}

#endif
