/*
 * Unwinds a sample after the fact, from its registers and a copy of the top of its stack.
 *
 * Two walkers take turns until one reaches the root or neither gets on:
 *   - the row walker (user_walk.h), over rules the caller has tables for: a few ns a frame, and the
 *     only one that crosses code without CFI (JIT) by frame pointers;
 *   - libunwind, where rows are not ready or a rule needs a real DWARF evaluator. It is started at
 *     the leaf, where all registers are known, and again from wherever the row walker stops.
 * So a stack is as complete as both together can make it, and libunwind's price is paid only where
 * nothing else helps.
 */
#ifndef SPROF_SNAPSHOT_UNWIND_H
#define SPROF_SNAPSHOT_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "core/portable/walk.h"

struct snapshot_mapping {
	uint64_t start, end, file_offset;
	uint64_t
		module; /* the caller's name for the file behind it, never reused; 0 = none (JIT) */
};

/* Where a module's bytes are; they must stay while the unwinder lives. */
struct snapshot_file {
	int fd; /* used if memory is NULL; stays the caller's */
	const void *memory;
	size_t size; /* of memory */
};

struct snapshot_ops {
	/* The executable mapping that holds an address; false: nothing is known there. */
	bool (*find_mapping)(void *context, uint64_t address, struct snapshot_mapping *ret);
	/* Asked once for each module; false: it cannot be read. */
	bool (*open_module)(void *context, uint64_t module, struct snapshot_file *ret);
	/*
	 * The walk rule of an ELF virtual address of a module; WALK_CFA_NONE where its table has
	 * none. false: there is no table (yet). NULL where the caller has no tables at all.
	 */
	bool (*find_rule)(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret);
	/* The rule of an address whose mapping has no module; false: there is none. NULL: never. */
	bool (*find_runtime_rule)(void *context, uint64_t address, struct walk_rule *ret);
};

struct snapshot_sample {
	struct walk_regs regs; /* of the leaf; gpr[] all valid if leaf_regs */
	const uint8_t *stack;  /* bytes from stack_start up, regs.sp among them */
	uint64_t stack_start;
	size_t stack_size;
	/* Changes when an address changes its meaning: another process, exec, mmap over code. */
	uint64_t space;
};

struct snapshot_result {
	size_t nr;  /* frames */
	size_t gap; /* frames were cut after frames[gap - 1]; 0: nowhere */
	int marker; /* enum marker: why it ended before the root; -1: it did not */
	const uint64_t
		*sps; /* the stack pointer in each frame, until the next call; NULL with a gap */
};

struct snapshot_unwinder;

struct snapshot_unwinder *snapshot_unwinder_new(const struct snapshot_ops *ops, void *context);
void snapshot_unwinder_free(struct snapshot_unwinder *unwinder); /* NULL is fine */

/*
 * Fills frames[] leaf first, each a pc, with FRAME_EXACT (core/portable/frames.h) where it is not a
 * return address. Of a stack deeper than `max` (at least 8) the leaf and the root are kept.
 */
struct snapshot_result snapshot_unwind(struct snapshot_unwinder *unwinder,
				       const struct snapshot_sample *sample, uint64_t *frames,
				       size_t max);

#endif
