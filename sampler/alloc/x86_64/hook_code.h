/*
 * The machine code of allocation hooks on x86-64. A function is hooked behind its first
 * instruction: a jump to a stub takes the place of the instructions that follow. So another tool's
 * breakpoint on the first byte can come and go.
 *
 *	function:	first instruction
 *			jmp stub		was: some instructions, the "moved" ones
 *	stub:		subtract the size from the thread's counter; below zero: slow
 *			or: is the block in the filter of sampled ones? slow
 *	resume:		first instruction again, if its result may be lost by now
 *			the moved instructions; jmp behind them
 *	original:	first instruction; jmp resume	(not if it stands at resume already)
 *	slow:		undo the first instruction; jmp into the payload, with original in rcx
 *
 * Where a program keeps the address of a function in a word of memory (Python's allocators), that
 * word is replaced by the address of a stub, and original is a jump to the function.
 *
 * Everything here is pure: bytes in, bytes out.
 */
#ifndef SPROF_HOOK_CODE_H
#define SPROF_HOOK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/agent/alloc/alloc_region.h"

#define HOOK_MAX_BYTES 32u
#define HOOK_STUB_MAX 256u
/* Bytes of its code. Behind it stands the function that a slot has held. */
#define HOOK_STUB_CODE (HOOK_STUB_MAX - 8u)
_Static_assert(ALLOC_STUBS_AT + ALLOC_NR_STUBS * HOOK_STUB_MAX == ALLOC_CODE_SIZE, "all are used");

/*
 * How a function can be hooked. Or a slot: a word of memory, at `function`, that holds the address
 * of one; then kept is 0 and length 8.
 */
struct hook_plan {
	uint64_t function;
	bool is_slot;
	bool is_jump;		     /* the first instruction is a jump: only where to is changed */
	uint8_t kept;		     /* bytes of the first instruction; of a jump its opcode */
	uint8_t length;		     /* of it and the moved instructions together */
	uint8_t undo;		     /* bytes that the first instruction has taken from the stack */
	bool again;		     /* it is run again in the stub */
	uint8_t was[HOOK_MAX_BYTES]; /* `length` bytes of the function */
};

/*
 * Plans for the function that begins with these bytes. 0; -ENOTSUP and *ret_why: it cannot be
 * hooked.
 */
int hook_plan_make(const uint8_t *code, size_t size, uint64_t function, struct hook_plan *ret,
		   const char **ret_why);

/* Plans for the slot at an address, in which `function` stands. */
void hook_plan_slot(uint64_t slot, uint64_t function, struct hook_plan *ret);

/* Addresses in the target. */
struct hook_places {
	uint64_t stub;
	uint64_t counters, filter; /* of struct alloc_private */
	uint64_t slow;		   /* the way into the payload */
};

struct hook_kind {
	enum alloc_entry entry;
	/* realloc(NULL) goes straight on, because it becomes a call of malloc, which counts */
	bool null_is_malloc;
	uint32_t site;
	uint32_t limit; /* sizes above it are not counted; 0: all are */
	uint64_t more;	/* as in slow_path.h */
};

/*
 * Can the stub run after the first instruction of a function with as many arguments as that entry
 * has? NULL, or why not.
 */
const char *hook_plan_refuses(const struct hook_plan *plan, enum alloc_entry entry);

struct hook_stub {
	uint8_t bytes[HOOK_STUB_MAX];
	size_t size;	/* of all, */
	size_t nr_code; /* and of its code */
	/* Offsets of the parts of the code: see above. `original` may be `resume`. */
	size_t resume, original, slow;
	/* Of the function's instructions from hook_jump_at() on; of a slot there are none. */
	size_t moved, moved_end;
};

/* Makes the stub that is to lie at places->stub. false: an instruction cannot be moved that far. */
bool hook_stub_make(const struct hook_plan *plan, const struct hook_kind *kind,
		    const struct hook_places *places, struct hook_stub *ret);

/* Fills plan->length bytes of the hooked function. The stub must be within 2 GiB. */
void hook_patch_write(const struct hook_plan *plan, uint64_t stub, uint8_t *ret_bytes);

/*
 * Does a jump or a call lead into the bytes that a plan changes, behind the function's first byte?
 * `code` lies at `address` and holds the whole text around the functions. Every byte is taken for
 * the start of a jump with a distance of four bytes, so none is missed; short jumps are looked for
 * in the functions themselves. Returns the index of the first plan that is entered, or `nr`.
 */
size_t hook_find_entered(const uint8_t *code, size_t size, uint64_t address,
			 const struct hook_plan *plans, size_t nr);

/* Where in the bytes of a plan the jump to the stub is. */
static inline uint8_t hook_jump_at(const struct hook_plan *plan)
{
	return plan->is_jump ? 0 : plan->kept;
}

/*
 * The address that the next jump from *at on leads to, or with `calls` the next jump or call; *at
 * is then behind it. 0: there is none. The code is that of the function.
 */
uint64_t hook_next_jump(const uint8_t *code, size_t size, uint64_t function, bool calls,
			size_t *at);
/*
 * If this code is an entry of the procedure linkage table: the address of the word that holds where
 * it leads. Else 0.
 */
uint64_t hook_plt_slot(const uint8_t *code, size_t size, uint64_t address);

#endif
