/*
 * Where the kernel has no tracepoint at the end of a switch (before Linux 6.15), the walk is asked
 * for by an interrupt to the own CPU, which comes as soon as the switch lets interrupts in: then
 * the thread that was switched to is the current one, and its memory is mapped. Output to a perf
 * event makes the kernel send itself such an interrupt.
 */
#ifndef SPROF_WAITING_X86_64_BPF_H
#define SPROF_WAITING_X86_64_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/task.h"

/* One for each CPU. Its contents are never read. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} self_interrupts SEC(".maps");

const volatile bool interrupts_itself;

static __always_inline void interrupt_self(void *ctx)
{
	__u64 nothing = 0;

	bpf_perf_event_output(ctx, &self_interrupts, BPF_F_CURRENT_CPU, &nothing, sizeof(nothing));
}

/* Where the stack ends that a thread left when it was last switched from. */
static __always_inline __u64 left_stack_start(struct task_struct *task)
{
	return task->thread.sp;
}

static __always_inline int take_wait(void *ctx);

SEC("?tp_btf/irq_work_entry")
int on_self_interrupt(void *ctx)
{
	return take_wait(ctx);
}

#endif
