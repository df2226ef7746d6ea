/*
 * Waits on their way to the sink: the reason of a wait is found by the names of its kernel frames,
 * and the exact times of threads become facts of the recording.
 */
#ifndef SPROF_EBPF_WAITS_H
#define SPROF_EBPF_WAITS_H

#include <stdint.h>

#include "sampler/bpf/events.h"

struct ebpf_waits;
struct kernel_side;
struct sample_sink;
struct walked;

struct ebpf_waits *ebpf_waits_new(const struct kernel_side *kernel);
void ebpf_waits_free(struct ebpf_waits *w);

/* Cuts the frames of the switch off the stack of a wait, and sets what was waited for. */
void ebpf_waits_explain(struct ebpf_waits *w, uint32_t state, struct walked *walked);
/* The same stack for the part of the wait in which the thread was runnable. */
void ebpf_waits_make_runnable(uint32_t state, struct walked *walked);

/* A thread has ended, or the recording has. */
void ebpf_waits_thread(struct ebpf_waits *w, struct sample_sink *out, const struct thread_event *e);

#endif
