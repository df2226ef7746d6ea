/* Tells the kernel side which processes run CPython, and what it looks like in there. */
#ifndef SPROF_EBPF_PYTHON_H
#define SPROF_EBPF_PYTHON_H

#include <stdint.h>

struct ebpf_pythons;
struct process;
struct source;

/* `map_fd` is that of the pythons map. */
struct ebpf_pythons *ebpf_pythons_new(int map_fd);
void ebpf_pythons_free(struct ebpf_pythons *pythons);

/*
 * Looks for an interpreter among the process's mappings; sets p->python. To be called whenever they
 * have changed, before the process table is published.
 */
void ebpf_pythons_update(struct source *s, struct process *p);

/* The text that runs a Python frame, where that is how to tell (up to 3.9); size 0 elsewhere. */
void ebpf_pythons_eval_text(const struct ebpf_pythons *pythons, uint32_t python,
			    uint64_t *ret_start, uint64_t *ret_size);

#endif
