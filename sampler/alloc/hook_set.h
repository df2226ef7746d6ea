/*
 * The hooks of one process: which functions are hooked and how (plan_hooks.c), and the bytes that
 * are written over them and put back (hook_set.c).
 */
#ifndef SPROF_HOOK_SET_H
#define SPROF_HOOK_SET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/alloc/allocations.h"
#include "sampler/alloc/x86_64/hook_code.h"

struct inject_process;
struct inject_reason;
struct held_threads;

struct hook {
	const struct alloc_function *function;
	struct hook_plan plan;
	struct hook_kind kind;
	uint64_t original;	     /* the way into the function past the hook */
	uint8_t now[HOOK_MAX_BYTES]; /* what stands there while it is on */
	uint16_t moved, moved_end;   /* as of struct hook_stub */
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
 * Reads the functions in the process, from number `from` on, and plans their hooks; nothing is
 * stopped or written. Hooks of ours that are on already are marked. 0; -ENOTSUP and the reason: one
 * that must be hooked, because blocks would seem to live on without it, cannot be; -EFAULT.
 */
int hook_set_plan(const struct inject_process *process,
		  const struct alloc_function *const *functions, size_t nr, size_t from,
		  struct hook_set *ret, struct inject_reason *reason);
/* An operator new that may throw; and does `f` allocate in the place of that one (slow_new.c)? */
bool hook_is_new(const struct alloc_function *function);
bool hook_takes_place_of_new(const struct alloc_function *f, const struct alloc_function *of);

void hook_set_fini(struct hook_set *set);
/* The hooks that are left, as a set of their own, to be turned off. */
void hook_set_of_left(const struct hook_set *set, struct hook_set *ret);
/*
 * Those that are gone, because their module was unmapped and mapped again, as a set of their own,
 * to be turned on. Without a process (NULL) memory of `pid` is read as core/untrusted does.
 */
void hook_set_of_undone(const struct hook_set *set, const struct inject_process *process, pid_t pid,
			struct hook_set *ret);
/* Moves the hooks of `more`, and what it left out, behind those of the set. */
void hook_set_join(struct hook_set *set, struct hook_set *more);
/* Is that the address of our stub for a slot? Then *ret_function is what the slot has held. */
bool hook_set_is_stub(const struct inject_process *process, uint64_t address,
		      uint64_t *ret_function);

/* Where things lie in the target. */
struct hook_memory {
	uint64_t code, private_memory;
	const struct alloc_payload *payload;
	size_t nr_stubs; /* that are there already */
};

/* Where the call frame information of a stub lies; its number may be ALLOC_NR_STUBS: the end. */
static inline uint64_t hook_frame_at(uint64_t code, const struct alloc_payload *payload,
				     uint32_t stub)
{
	return code + payload->head.size + (uint64_t)stub * ALLOC_FRAME_SIZE;
}

static inline uint64_t hook_stub_at(uint64_t code, uint32_t stub)
{
	return code + ALLOC_STUBS_AT + (uint64_t)stub * HOOK_STUB_MAX;
}

/*
 * Writes the stubs into the process, where nothing jumps to them yet. 0; -ERANGE: a function is too
 * far away; -EFAULT.
 */
int hook_set_write_stubs(struct hook_set *set, const struct inject_process *process,
			 const struct hook_memory *memory);

/*
 * Turns the hooks on, all at once, while all threads are held. 0; -EAGAIN: a thread is about to run
 * what would be overwritten; -ESTALE: other bytes are there than were read, and nothing was
 * written; -EFAULT.
 */
int hook_set_on(const struct hook_set *set, const struct inject_process *process,
		const struct held_threads *held);
/*
 * Turns them off again, those whose module is still mapped. 0; -ESTALE: what others have written
 * over one of them stays, so the stubs must stay too; -EFAULT.
 */
int hook_set_off(const struct hook_set *set, const struct inject_process *process);

#endif
