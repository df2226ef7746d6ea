/*
 * Waits on their way to the sink: the reason of a wait is found by the names of its kernel frames,
 * what it waited for and the waker's stack go on top of its own, and the exact times of threads
 * become facts of the recording.
 */
#ifndef SPROF_EBPF_WAITS_H
#define SPROF_EBPF_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/bpf/events.h"

struct ebpf_waits;
struct kernel_side;
struct known_stack;
struct process;
struct sample_sink;
struct sandbox;
struct walked;

struct ebpf_waits *ebpf_waits_new(const struct kernel_side *kernel, const struct sandbox *sandbox);
void ebpf_waits_free(struct ebpf_waits *w);

/*
 * Keeps the stack of a wait, or of a waker (WAKER_STACK), for samples with that key. The stack of a
 * wait loses the frames of the switch, and its leaf says what was waited for; so the reason of a
 * wait is on top of `walked` afterwards. false: older stacks were forgotten to make room.
 */
bool ebpf_waits_keep(struct ebpf_waits *w, struct sample_sink *out, const struct process *p,
		     uint64_t key, uint32_t state, struct walked *walked);
/*
 * The sink's stacks of a sampled wait whose stack was kept: with what is known of it on top, and as
 * that of a thread that waits for a CPU. false: it was not kept. Samples come in order of time.
 */
bool ebpf_waits_find(struct ebpf_waits *w, struct sample_sink *out, const struct sample_event *s,
		     const struct wait_facts *facts, struct known_stack *ret_waiting,
		     struct known_stack *ret_ready);
/* The same of a stack that is not kept. */
void ebpf_waits_once(struct ebpf_waits *w, struct sample_sink *out, const struct process *p,
		     const struct snapshot_event *e, struct walked *walked,
		     struct known_stack *ret_waiting, struct known_stack *ret_ready);

/* A part of a sampled wait, whose sample is `s`, was spent for a lock or another futex. */
void ebpf_waits_lock(struct ebpf_waits *w, struct sample_sink *out, uint32_t user,
		     const struct sample_event *s, const struct wait_facts *facts,
		     uint64_t waiting_ns);
/* Tells the sink what has been added up; `at_end`: in any case. */
void ebpf_waits_tell(struct ebpf_waits *w, struct sample_sink *out, bool at_end);

/* A segment begins: sums begin anew, and with `forget`, the sink's ids are void. */
void ebpf_waits_turn(struct ebpf_waits *w, bool forget);

/* A thread of a process of `user` has ended, or the recording or a segment of it has. */
void ebpf_waits_thread(struct ebpf_waits *w, struct sample_sink *out, uint32_t user,
		       const struct thread_event *e);

#endif
