/*
 * Walks a stack by unwind rules in user space, with the steps of core/portable/walk_step.h that the
 * BPF program uses too. The caller says how memory is read and rules are found.
 */
#ifndef SPROF_USER_WALK_H
#define SPROF_USER_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct user_walk_ops {
	/* The 8 bytes at an address of the walked thread; false: they cannot be read. */
	bool (*read)(void *context, uint64_t address, uint64_t *ret);
	/*
	 * The rule at an address; WALK_CFA_NONE where the code has none. false: it has one that the
	 * caller cannot give. That ends the walk with WALK_NEED_DWARF.
	 */
	bool (*find_rule)(void *context, uint64_t address, struct walk_rule *ret);
};

/*
 * Appends pcs, leaf first, to frames[*nr], FRAME_EXACT (core/portable/frames.h) where one is not a
 * return address, and the stack pointer of each to sps[*nr]. While *nr is 0 the frame of `regs`
 * comes first; else it is the last of the frames already. Returns why the walk ended, WALK_OK when
 * frames[] is full; regs are then those of the last frame.
 */
enum walk_status user_walk(const struct user_walk_ops *ops, void *context, struct walk_regs *regs,
			   uint64_t *frames, uint64_t *sps, size_t max, size_t *nr);

/* The address at which the rule for these registers is looked up. */
uint64_t user_walk_pc(const struct walk_regs *regs);
/* The word that stands for the frame of these registers. */
uint64_t user_walk_frame(const struct walk_regs *regs);

#endif
