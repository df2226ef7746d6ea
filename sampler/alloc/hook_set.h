/*
 * The hooks of one process: which functions are hooked and how, and the bytes that are written over
 * them and put back.
 */
#ifndef SPROF_HOOK_SET_H
#define SPROF_HOOK_SET_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/alloc/allocations.h"
#include "sampler/alloc/x86_64/hook_code.h"

struct inject_process;
struct inject_reason;
struct held_threads;

struct hook {
	const struct alloc_function *function;
	struct hook_plan plan;
	struct hook_kind kind;
	uint8_t now[HOOK_MAX_BYTES]; /* what stands there while it is on */
	bool is_left; /* it is on already: a recorder that was killed, or a parent, has left it */
};

struct hook_set {
	struct hook *hooks;
	size_t nr;
	/* functions that are not hooked, to be named */
	struct left_out {
		const struct alloc_function *function;
		const char *why;
	} * left_out;
	size_t nr_left_out, left_out_capacity;
	uint64_t left_code; /* code of the hooks that are left; 0: there are none */
};

/*
 * Reads the functions in the process and plans their hooks; nothing is stopped or written. Hooks of
 * ours that are on already are marked. 0;
 * -ENOTSUP and the reason: one that must be hooked, because blocks would seem to live on without
 * it, cannot be; -EFAULT.
 */
int hook_set_plan(const struct inject_process *process, const struct alloc_function *functions,
		  size_t nr, struct hook_set *ret, struct inject_reason *reason);
void hook_set_fini(struct hook_set *set);
/* The hooks that are left, as a set of their own, to be turned off. */
void hook_set_of_left(const struct hook_set *set, struct hook_set *ret);

/* Where things lie in the target. */
struct hook_memory {
	uint64_t code, private_memory;
	const struct alloc_payload *payload;
};

/*
 * Writes the stubs into the process, where nothing jumps to them yet. 0; -ERANGE: a function is too
 * far away; -EFAULT.
 */
int hook_set_write_stubs(struct hook_set *set, const struct inject_process *process,
			 const struct hook_memory *memory);

/*
 * Turns the hooks on or off, all at once, while all threads are held. 0; -EAGAIN: a thread is about
 * to run what would be overwritten; -ESTALE: other bytes are there than were left, and nothing was
 * written; -EFAULT.
 */
int hook_set_on(const struct hook_set *set, const struct inject_process *process,
		const struct held_threads *held);
int hook_set_off(const struct hook_set *set, const struct inject_process *process);

#endif
