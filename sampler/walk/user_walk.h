/*
 * Walks a stack by unwind rules in user space: the steps of core/portable/walk_step.h, which the BPF program
 * takes too, over whatever memory and rules the caller has.
 */
#ifndef SPROF_USER_WALK_H
#define SPROF_USER_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct user_walk_ops {
	/* The 8 bytes at an address of the walked thread; false where they are not to be had. */
	bool (*read)(void *context, uint64_t address, uint64_t *ret);
	/*
	 * The rule in force at an address; WALK_CFA_NONE where code has none. false: it has one, but
	 * not here. That ends the walk with WALK_NEED_DWARF.
	 */
	bool (*find_rule)(void *context, uint64_t address, struct walk_rule *ret);
};

/*
 * Appends frames, leaf first, to frames[*nr]: the pc, with FRAME_EXACT (core/portable/frames.h) where
 * it is no return address; and to sps[*nr] the stack pointer in each. Begins with the frame of `regs` while *nr is 0; otherwise that one is the
 * last of the frames already, and the walk goes on from it. Returns why it ended, WALK_OK when
 * frames[] is full; regs are then those of the last frame.
 */
enum walk_status user_walk(const struct user_walk_ops *ops, void *context, struct walk_regs *regs,
			   uint64_t *frames, uint64_t *sps, size_t max, size_t *nr);

/* A frame as the walkers store it. */
uint64_t user_walk_frame(const struct walk_regs *regs);

#endif
