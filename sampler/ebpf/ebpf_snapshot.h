/* Unwinds, in user space, the samples that the kernel side could not. */
#ifndef SPROF_EBPF_SNAPSHOT_H
#define SPROF_EBPF_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/ebpf/ebpf.h"
#include "sampler/sink/sample_sink.h"

/*
 * Fills `ret_walked` with the user frames of the snapshot; frames[], `max` words, holds them. With
 * `leaf_only` nothing is unwound. `p` may be NULL (its process has ended before it was known).
 */
void ebpf_unwind_snapshot(struct source *s, const struct process *p, const struct snapshot_event *e,
			  bool leaf_only, uint64_t *frames, size_t max, struct walked *ret_walked);

/* Keeps the Python frames (EVENT_PYTHON) that go with the snapshot that comes next. */
void ebpf_keep_python_stack(struct source *s, const struct stack_event *e);

#endif
