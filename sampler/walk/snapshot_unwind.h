/*
 * Unwinds a snapshot: the registers of a sample and a copy of the top of its stack.
 *
 * Two walkers take turns until one reaches the root or neither gets further:
 *   - the row walker (user_walk.h), with the rules of the caller's tables. It takes a few ns a
 *     frame and is the only one that crosses code without CFI by frame pointers.
 *   - libunwind, where rows are not ready or a rule needs a full DWARF evaluator. It starts at the
 *     leaf, where all registers are known, and again from wherever the row walker stops.
 * So a stack is as complete as both can make it together, and libunwind costs time only where it
 * helps.
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
	uint64_t module; /* the caller's number of the file; 0 = no file */
	bool over_limit; /* its file is over a limit: the walk ends there */
};

struct code_segment; /* core/sandbox/confined_headers.h */

/* Where a module's bytes are; they must stay there until snapshot_unwinder_forget(). */
struct snapshot_file {
	int fd; /* used if memory is NULL; the caller's */
	const void *memory;
	size_t size; /* of memory */
	/* Executable ones of the file, the caller's; used only with snapshot_ops.take_turn. */
	const struct code_segment *segments;
	size_t nr_segments;
};

struct snapshot_sample;

/* How libunwind continues where the row walker stopped. */
struct snapshot_turn {
	struct walk_regs regs; /* of the stop; then of the last frame that was found */
	uint64_t module;       /* in which it stopped */
	bool pending;	       /* because the module has no table, so all its rules are missing */
	size_t nr;	       /* frames so far, that of the stop included */
	/* The result. `status` says why it ended, `fault` what could not be read. */
	bool from_leaf; /* the frames found are all of the stack; else those above the stop */
	size_t nr_found;
	enum walk_status status;
	uint64_t fault;
	uint64_t *frames, *sps; /* the caller's room for `max` of each */
	size_t max;
};

struct snapshot_ops {
	/* The executable mapping that contains an address; false: none is known. */
	bool (*find_mapping)(void *context, uint64_t address, struct snapshot_mapping *ret);
	/* Called once for each module; false: it cannot be read. */
	bool (*open_module)(void *context, uint64_t module, struct snapshot_file *ret);
	/*
	 * The rule at an ELF virtual address of a module; WALK_CFA_NONE where its table has none.
	 * false: there is no table (yet). NULL hook: the caller has no tables.
	 */
	bool (*find_rule)(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret);
	/* Is the table of the module being built? NULL hook: never. */
	bool (*table_is_coming)(void *context, uint64_t module);
	/* The rule at an address whose mapping has no module; false: none. NULL hook: never one. */
	bool (*find_runtime_rule)(void *context, uint64_t address, struct walk_rule *ret);
	/*
	 * Memory is limited: functions of large files are looked up in the table that the linker
	 * made, one by one, and no list of them is kept.
	 */
	bool by_header;
	/*
	 * Has libunwind continue in another process, so that nothing of a file is interpreted in
	 * this one. false: that failed. NULL hook: libunwind runs here.
	 */
	bool (*take_turn)(void *turn_context, const struct snapshot_sample *sample,
			  struct snapshot_turn *turn);
	void *turn_context;
};

struct snapshot_sample {
	struct walk_regs regs; /* of the leaf; gpr[] all valid if leaf_regs */
	const uint8_t *stack;  /* bytes from stack_start up, which include regs.sp */
	uint64_t stack_start;
	size_t stack_size;
	/* Equal values: an address means the same. Changes with process, exec, mmap over code. */
	uint64_t space;
	/* Which guesses are charged to; no process: they have no budget beyond a stack's. */
	uint32_t process, user;
	bool guess; /* where no rule leads on, callers are guessed: see guess_caller.h */
	/* Where a table that is being built is missing, the result only says so. */
	bool may_wait;
};

struct snapshot_result {
	size_t nr;  /* frames */
	size_t gap; /* frames are missing after frames[gap - 1]; 0: none are */
	int marker; /* enum marker: why the walk ended before the root; -1: complete */
	/*
	 * The module whose table would lead on and is being built. Nothing else is set then, and
	 * frames[] is not filled. 0: the result stands. Only with snapshot_sample.may_wait.
	 */
	uint64_t awaited;
	/* So many frames to the root, which were guessed, follow frames[nr - 1]. */
	size_t nr_guessed;
	/* The stack pointer of each frame, valid until the next call; NULL with a gap. */
	const uint64_t *sps;
};

struct snapshot_unwinder;

struct snapshot_unwinder *snapshot_unwinder_new(const struct snapshot_ops *ops, void *context);
void snapshot_unwinder_free(struct snapshot_unwinder *unwinder); /* NULL is fine */
/* The number of the module is going to belong to another file. NULL is fine. */
void snapshot_unwinder_forget(struct snapshot_unwinder *unwinder, uint64_t module);

/* Stacks whose callers were not guessed, because their process had used up its budget. */
uint64_t snapshot_unwinder_refused(const struct snapshot_unwinder *unwinder); /* NULL is fine */

/*
 * Fills frames[] with the pcs, leaf first; FRAME_EXACT (core/portable/frames.h) marks those that
 * are not return addresses. Of a stack deeper than `max` (at least 8) the leaf and root ends are
 * kept.
 */
struct snapshot_result snapshot_unwind(struct snapshot_unwinder *unwinder,
				       const struct snapshot_sample *sample, uint64_t *frames,
				       size_t max);

#endif
