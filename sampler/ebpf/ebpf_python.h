/*
 * Tells the kernel side which processes run CPython: a process names a place in the pythons map,
 * which holds the layout of its interpreter at the addresses of that process.
 */
#ifndef SPROF_EBPF_PYTHON_H
#define SPROF_EBPF_PYTHON_H

#include <stdint.h>

struct limits;
struct ebpf_pythons;
struct process;
struct py_layout;

/* `map_fd`: the pythons map; it and `limits` must outlive the result. */
struct ebpf_pythons *ebpf_pythons_new(int map_fd, struct limits *limits);
void ebpf_pythons_free(struct ebpf_pythons *pythons); /* NULL is fine */

/*
 * Looks for an interpreter among the process's mappings and sets ebpf_process.python. To be called
 * whenever the mappings have changed, before they are published. `processes` is the list of all, of
 * which each may name a place. `pythons` NULL finds none.
 */
void ebpf_pythons_update(struct ebpf_pythons *pythons, struct process *p,
			 const struct process *processes);

/*
 * The recorder has forgotten the code objects: the caches of their numbers are void, so that they
 * are sent again.
 */
void ebpf_pythons_send_again(struct ebpf_pythons *pythons);

/* The layout of that place (ebpf_process.python); NULL: none. */
const struct py_layout *ebpf_pythons_layout(const struct ebpf_pythons *pythons, uint32_t python);

/*
 * The function that runs Python frames, for versions whose runs of frames carry no boundary (up to
 * 3.9); size 0 for others.
 */
void ebpf_pythons_eval_text(const struct ebpf_pythons *pythons, uint32_t python,
			    uint64_t *ret_start, uint64_t *ret_size);

#endif
