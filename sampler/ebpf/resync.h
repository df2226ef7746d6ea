/*
 * Repairs what the recorder knows of processes after events of the kernel side were lost: when the
 * ring was full, forks, execs and exits went missing.
 */
#ifndef SPROF_RESYNC_H
#define SPROF_RESYNC_H

#include <stdint.h>

struct ebpf_targets;
struct process;

struct ebpf_resync {
	uint64_t nr_lost; /* events, when it last looked */
	uint64_t look_ns; /* when it looks again: asking the kernel costs a call */
	uint64_t due_ns;  /* when the loss was seen; 0: nothing is due */
	uint64_t done_ns; /* when the processes were last compared */
};

/*
 * The queue has been handled up to `handled_ns`. Compares all processes with the kernel side and
 * /proc where that is due, once a second at most.
 */
void ebpf_resync(struct ebpf_resync *r, struct ebpf_targets *t, uint64_t handled_ns);
/* A sample says which image of the program runs: the exec that led to it may have been missed. */
void ebpf_saw_image(struct ebpf_targets *t, struct process *p, uint32_t exec_id);

#endif
