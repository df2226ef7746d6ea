/*
 * Walks a copied stack with libunwind, which has a full DWARF evaluator. libunwind gets each
 * function's FDE from our list of functions, so it needs no .eh_frame_hdr, and it never guesses:
 * the walk stops where no FDE covers the pc.
 */
#ifndef SPROF_LIBUNWIND_WALK_H
#define SPROF_LIBUNWIND_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/walk/libunwind_modules.h"

struct libunwind_walk;

/* NULL where libunwind cannot be set up (no memory). `modules` must outlive it. */
struct libunwind_walk *libunwind_walk_new(struct libunwind_modules *modules);
void libunwind_walk_free(struct libunwind_walk *walk); /* NULL is fine */

/*
 * Later walks end with WALK_TOO_LONG once this thread has used that much CPU time since this call,
 * or, where the machine is busy or questions are answered late, after four times as much time. At
 * first there is no limit.
 */
void libunwind_walk_limit(struct libunwind_walk *walk, uint64_t cpu_ns);

/*
 * As user_walk(): appends frames to frames[*nr]. While *nr is 0 the frame of `regs` comes first;
 * else it is there already. Registers other than pc, sp and fp are used only if regs->leaf_regs.
 * Returns why the walk ended; regs are then those of the last frame.
 */
enum walk_status libunwind_walk_run(struct libunwind_walk *walk,
				    const struct snapshot_sample *sample, struct walk_regs *regs,
				    uint64_t *frames, uint64_t *sps, size_t max, size_t *nr);

/*
 * Takes a turn: from the leaf, where all registers are known, or from the stop where it does not
 * get that far from the leaf (over code without CFI). Frames without an FDE in a module that has
 * no table (turn->pending) are left by their frame pointers.
 */
void libunwind_walk_turn(struct libunwind_walk *walk, const struct snapshot_sample *sample,
			 struct snapshot_turn *turn);

/* The 8 bytes at an address of the copied stack. */
bool snapshot_sample_read(const struct snapshot_sample *sample, uint64_t address, uint64_t *ret);

#endif
