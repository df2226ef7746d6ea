/*
 * libunwind over a copied stack and the files of the program: the walker with a full DWARF
 * evaluator. It takes any function's FDE from our list of functions, so it needs no .eh_frame_hdr,
 * and it never guesses: where no FDE covers the pc it stops.
 */
#ifndef SPROF_LIBUNWIND_WALK_H
#define SPROF_LIBUNWIND_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/walk/libunwind_modules.h"

struct remote_unwind;

/* NULL where libunwind cannot be set up (no memory). `modules` must outlive it. */
struct remote_unwind *remote_unwind_new(struct offline_modules *modules);
void remote_unwind_free(struct remote_unwind *remote); /* NULL is fine */

/*
 * As host_walk(): appends frames to frames[*nr], beginning with that of `regs` while *nr is 0, and
 * going on from it otherwise; registers other than pc, sp and fp count as known only with
 * regs->leaf_regs. Returns why it ended; regs are then those of the last frame.
 */
enum walk_status remote_unwind_walk(struct remote_unwind *remote,
				    const struct offline_sample *sample, struct walk_regs *regs,
				    uint64_t *frames, uint64_t *sps, size_t max, size_t *nr);

/* The address that could not be read, after WALK_READ_FAULT. */
uint64_t remote_unwind_fault(const struct remote_unwind *remote);

/* The 8 bytes at an address of the copied stack. */
bool offline_sample_read(const struct offline_sample *sample, uint64_t address, uint64_t *ret);

#endif
