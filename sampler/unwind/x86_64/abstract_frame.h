/*
 * What is known of a frame at one place of a function's code: which registers and which words of
 * the stack hold the CFA, the caller's rbp, or an address at a known distance.
 * abstract_frame_step() applies an instruction; what is not certain is forgotten.
 */
#ifndef SPROF_ABSTRACT_FRAME_H
#define SPROF_ABSTRACT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/unwind/x86_64/instruction.h"

enum frame_base {
	FRAME_UNKNOWN = 0,
	FRAME_CFA,
	FRAME_ALIGNED, /* where "and $-n, %rsp" left rsp */
	FRAME_CALLERS_RBP,
};

struct frame_value {
	int32_t offset; /* 0 if unknown */
	int32_t base;	/* enum frame_base */
};

struct frame_slot {
	struct frame_value address, value;
};

#define FRAME_MAX_SLOTS 12

struct abstract_frame {
	struct frame_value regs[WALK_NR_REGS]; /* by the numbers of instruction.h */
	struct frame_slot slots[FRAME_MAX_SLOTS];
	uint32_t nr_slots;
};

/* At the first instruction of a function. */
void abstract_frame_init(struct abstract_frame *state);
/* Applies an instruction that continues. false: no function that keeps to the ABI does this. */
bool abstract_frame_step(struct abstract_frame *state, const struct instruction *instruction);
/* Keeps what both states know. true: `state` knows less than before. */
bool abstract_frame_meet(struct abstract_frame *state, const struct abstract_frame *other);
/* Is it as at the first instruction: rsp at the return address, rbp the caller's? */
bool abstract_frame_is_bare(const struct abstract_frame *state);
/* The unwind rule of this state; false: there is none. */
bool abstract_frame_rule(const struct abstract_frame *state, struct walk_rule *ret);

#endif
