/*
 * A turn of libunwind counts only if it brings a frame; otherwise the result of the row walker
 * stands. Each walker fills arrays of its own, so the better attempt can be kept.
 */
#include "sampler/walk/snapshot_unwind.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/portable/frames.h"
#include "sampler/walk/guess_budget.h"
#include "sampler/walk/guess_caller.h"
#include "sampler/walk/libunwind_modules.h"
#include "sampler/walk/libunwind_walk.h"
#include "sampler/walk/user_walk.h"

#define MAX_DEPTH 16384 /* frames; a snapshot of 64 KiB holds half as many */
#define MAX_TURNS 8	/* each brings at least a frame */
/*
 * A thousand times what a stack takes: opening large files is part of it. A copied stack may hold
 * signal frames in a circle, of which libunwind would walk thousands in each turn.
 */
#define LIMIT_NS 100000000

struct snapshot_unwinder {
	struct snapshot_ops ops;
	void *context;
	struct libunwind_modules *modules;
	struct libunwind_walk *libunwind;
	struct guess_budget budget;
	/* of the current sample */
	const struct snapshot_sample *sample;
	struct snapshot_place place; /* of the last address; end 0 = none */
	bool mapped;		     /* the last address is in a mapping */
	bool pending;		     /* the module of the last address has no table */
	bool parser_failed;	     /* libunwind was needed, and its process failed */
	uint64_t fault;		     /* the last address that could not be read */
	/* two attempts */
	uint64_t frames[MAX_DEPTH], other_frames[MAX_DEPTH];
	uint64_t sps[MAX_DEPTH], other_sps[MAX_DEPTH];
};

struct snapshot_unwinder *snapshot_unwinder_new(const struct snapshot_ops *ops, void *context)
{
	struct snapshot_unwinder *u = xcalloc(1, sizeof(*u));

	u->ops = *ops;
	u->context = context;
	u->modules = libunwind_modules_new(&u->ops, context);
	if (!ops->take_turn)
		u->libunwind = libunwind_walk_new(u->modules);
	return u;
}

void snapshot_unwinder_free(struct snapshot_unwinder *u)
{
	if (!u)
		return;
	libunwind_walk_free(u->libunwind);
	libunwind_modules_free(u->modules);
	free(u);
}

void snapshot_unwinder_forget(struct snapshot_unwinder *u, uint64_t module)
{
	if (u)
		libunwind_modules_forget(u->modules, module);
}

uint64_t snapshot_unwinder_refused(const struct snapshot_unwinder *u)
{
	return u ? u->budget.nr_refused : 0;
}

static bool read_stack(void *context, uint64_t address, uint64_t *ret)
{
	struct snapshot_unwinder *u = context;

	if (snapshot_sample_read(u->sample, address, ret))
		return true;
	u->fault = address;
	return false;
}

/* For the row walker. Runtime code without rules is walked by frame pointers. */
static bool find_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	struct snapshot_unwinder *u = context;
	struct snapshot_fde fde;
	uint64_t vaddr;

	if (address < u->place.start || address >= u->place.end) {
		u->mapped = libunwind_modules_find(u->modules, address, &u->place);
		if (!u->mapped)
			u->place = (struct snapshot_place){ 0 };
	}
	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	u->pending = false;
	if (u->place.over_limit) {
		ret->cfa = WALK_CFA_OVER_LIMIT;
		return true;
	}
	if (!u->place.module) {
		if (u->ops.find_runtime_rule)
			u->ops.find_runtime_rule(u->context, address, ret);
		return true;
	}
	vaddr = address - u->place.bias;
	if (u->ops.find_rule && u->ops.find_rule(u->context, u->place.key, vaddr, ret))
		return true;
	/* no table: libunwind can go on where there is an FDE */
	u->pending = true;
	return !u->ops.take_turn && !libunwind_module_fde(u->place.module, vaddr, &fde);
}

/* Lets libunwind continue where the row walker stopped. true: it added frames. */
static bool take_turn(struct snapshot_unwinder *u, struct walk_regs *regs, size_t *nr,
		      enum walk_status *status)
{
	struct snapshot_turn turn = {
		.regs = *regs,
		.module = u->place.key,
		.pending = u->ops.take_turn && u->pending,
		.nr = *nr,
		.frames = u->other_frames,
		.sps = u->other_sps,
		.max = MAX_DEPTH,
	};
	size_t kept, added;

	if (u->ops.take_turn) {
		u->parser_failed = !u->ops.take_turn(u->ops.turn_context, u->sample, &turn);
		if (u->parser_failed)
			return false;
	} else if (u->libunwind) {
		libunwind_walk_turn(u->libunwind, u->sample, &turn);
	} else {
		return false;
	}
	kept = turn.from_leaf ? 0 : *nr;
	added = turn.nr_found < MAX_DEPTH - kept ? turn.nr_found : MAX_DEPTH - kept;
	memcpy(u->frames + kept, turn.frames, added * sizeof(*u->frames));
	memcpy(u->sps + kept, turn.sps, added * sizeof(*u->sps));
	*nr = kept + added;
	*regs = turn.regs;
	*status = turn.status;
	if (*status == WALK_READ_FAULT)
		u->fault = turn.fault;
	return *nr > turn.nr;
}

static int marker_of(const struct snapshot_unwinder *u, enum walk_status status)
{
	if (u->parser_failed)
		return MARKER_PARSER_FAILED;
	switch (status) {
	case WALK_END: return -1;
	case WALK_OK: return MARKER_TOO_DEEP;
	case WALK_TOO_LONG: return MARKER_TOO_LONG;
	case WALK_BAD_STACK: return MARKER_BAD_STACK;
	case WALK_OVER_LIMIT: return MARKER_OVER_LIMIT;
	case WALK_READ_FAULT:
		return u->fault >= u->sample->stack_start ? MARKER_SNAPSHOT_END : MARKER_READ_FAULT;
	default: return u->mapped ? MARKER_NO_RULE : MARKER_UNKNOWN;
	}
}

/*
 * Guesses the callers of the frame in which the walk ended, or of the last one in known code.
 * Returns how many frames were found; *nr may be one less than before.
 */
static size_t guess(struct snapshot_unwinder *u, const struct user_walk_ops *ops,
		    const struct walk_regs *end, enum walk_status status, size_t max, size_t *nr)
{
	struct walk_regs regs = *end;
	uint32_t process = u->sample->process;
	uint64_t now_ns = process ? monotonic_ns() : 0;
	size_t nr_known = *nr, nr_all;
	unsigned int nr_steps;
	bool found;

	if (status != WALK_NO_RULE && status != WALK_BAD_STACK && status != WALK_NEED_DWARF)
		return 0;
	if (process && !guess_budget_allows(&u->budget, process, u->sample->user, now_ns))
		return 0;
	if (!u->mapped && nr_known > 1) {
		uint64_t frame = u->frames[--nr_known - 1];

		regs.pc = frame & ~FRAME_EXACT;
		regs.exact = frame & FRAME_EXACT ? 1 : 0;
		regs.sp = u->sps[nr_known - 1];
	}
	nr_all = nr_known;
	u->place = (struct snapshot_place){ 0 };
	found = guess_caller(u->modules, ops, u, &regs, u->frames, u->sps, max, &nr_all, &nr_steps);
	if (process)
		guess_budget_use(&u->budget, process, u->sample->user, now_ns, nr_steps);
	if (!found)
		return 0;
	*nr = nr_known;
	return nr_all - nr_known;
}

/* The module whose table is being built, where the lack of it ended the walk. */
static uint64_t awaited(const struct snapshot_unwinder *u, enum walk_status status)
{
	if (status == WALK_END || !u->pending || u->parser_failed || !u->ops.table_is_coming ||
	    !u->ops.table_is_coming(u->context, u->place.key))
		return 0;
	return u->place.key;
}

struct snapshot_result snapshot_unwind(struct snapshot_unwinder *u,
				       const struct snapshot_sample *sample, uint64_t *frames,
				       size_t max)
{
	static const struct user_walk_ops walk_ops = { read_stack, find_rule };
	struct walk_regs regs = sample->regs;
	struct snapshot_result result = { 0 };
	enum walk_status status = WALK_OK;
	size_t nr = 0, nr_root;

	u->sample = sample;
	u->place = (struct snapshot_place){ 0 };
	u->mapped = u->pending = u->parser_failed = false;
	if (u->libunwind)
		libunwind_walk_limit(u->libunwind, LIMIT_NS);
	for (int turn = 0; turn < MAX_TURNS; turn++) {
		status = user_walk(&walk_ops, u, &regs, u->frames, u->sps, MAX_DEPTH, &nr);
		if (status != WALK_NEED_DWARF || !take_turn(u, &regs, &nr, &status) ||
		    status == WALK_END || nr == MAX_DEPTH)
			break;
	}
	if (sample->may_wait) {
		result.awaited = awaited(u, status);
		if (result.awaited)
			return result;
	}
	result.marker = marker_of(u, status);
	if (sample->guess && nr < max && !u->parser_failed)
		result.nr_guessed = guess(u, &walk_ops, &regs, status, max, &nr);
	result.nr = nr;
	result.sps = u->sps;
	if (nr > max) {
		result.sps = NULL;
		nr_root = max / 4;
		result.nr = max;
		result.gap = max - nr_root;
		memcpy(frames + result.gap, u->frames + nr - nr_root, nr_root * sizeof(*frames));
		nr = result.gap;
	}
	memcpy(frames, u->frames, (nr + result.nr_guessed) * sizeof(*frames));
	return result;
}
