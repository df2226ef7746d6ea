/*
 * Counts the threads of targets that run at this moment, by a look at what each CPU runs: threads
 * pay nothing when they are switched. Where the run queue of a CPU lies, which names its thread,
 * is no public symbol; the thread that runs there leads to it, so each CPU is asked once, at the
 * start.
 */
#ifndef SPROF_RUNNING_BPF_H
#define SPROF_RUNNING_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/maps.bpf.h"
#include "sampler/bpf/task.h"
#include "sampler/bpf/walker.bpf.h"

/* By number of a CPU: the address of its run queue; 0: not known. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, __u32);
	__type(value, __u64);
} run_queues SEC(".maps");

const volatile __u32 nr_cpus;

/* The recorder runs it on each CPU. What does not name the running thread is no run queue. */
SEC("raw_tp")
int find_run_queue(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cfs_rq___queue *group = NULL;
	struct rq *rq = NULL;
	__u64 address;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(group->rq))
		return 0;
	group = (void *)BPF_CORE_READ(task, se.cfs_rq);
	rq = BPF_CORE_READ(group, rq);
	if (!rq || BPF_CORE_READ(rq, curr) != task)
		return 0;
	address = (__u64)rq;
	bpf_map_update_elem(&run_queues, &cpu, &address, BPF_ANY);
	return 0;
}

/* Counts the thread that CPU number st->low runs, if it is a target's. 0: there is no such CPU. */
__noinline int count_on_cpu(struct walk_state *st)
{
	struct task_struct *task;
	__u32 tgid = 0, cpu;
	__u64 *rq;

	if (!st)
		return 0;
	cpu = st->low++;
	if (cpu >= nr_cpus)
		return 0;
	rq = bpf_map_lookup_elem(&run_queues, &cpu);
	if (!rq)
		return 0;
	task = BPF_CORE_READ((struct rq *)*rq, curr);
	if (task)
		tgid = BPF_CORE_READ(task, tgid);
	if (tgid && (system_wide || bpf_map_lookup_elem(&processes, &tgid)))
		st->running++;
	return 1;
}

#define CPUS_AT_ONCE 32

__noinline int count_on_cpus(struct walk_state *st)
{
	if (!st)
		return 0;
	for (int i = 0; i < CPUS_AT_ONCE; i++)
		if (!count_on_cpu(st))
			return 0;
	return 1;
}

__noinline int count_running(struct walk_state *st)
{
	if (!st)
		return 0;
	st->low = 0;
	st->running = 0;
	for (int i = 0; i < MAX_CPUS / CPUS_AT_ONCE; i++)
		if (!count_on_cpus(st))
			break;
	/* The thread that is sampled runs, whatever is read of a CPU that is just switching. */
	if (!st->running)
		st->running = 1;
	return 0;
}

#endif
