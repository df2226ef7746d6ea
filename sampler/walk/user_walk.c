/*
 * One home of the portable step: walk_read() of core/portable/walk_step.h calls the caller's hook.
 */
#include "sampler/walk/user_walk.h"

#include "core/portable/frames.h"

struct walk {
	const struct user_walk_ops *ops;
	void *context;
};

static __always_inline int walk_read(void *ctx, __u64 address, __u64 *ret)
{
	const struct walk *walk = ctx;
	uint64_t value;

	if (!walk->ops->read(walk->context, address, &value))
		return -1;
	*ret = value;
	return 0;
}

#include "core/portable/walk_step.h"

uint64_t user_walk_pc(const struct walk_regs *regs)
{
	return walk_lookup_pc(regs);
}

uint64_t user_walk_frame(const struct walk_regs *regs)
{
	return (regs->pc & ~FRAME_EXACT) | (regs->exact ? FRAME_EXACT : 0);
}

enum walk_status user_walk(const struct user_walk_ops *ops, void *context, struct walk_regs *regs,
			   uint64_t *frames, uint64_t *sps, size_t max, size_t *nr)
{
	struct walk walk = { ops, context };

	if (!*nr && max) {
		sps[*nr] = regs->sp;
		frames[(*nr)++] = user_walk_frame(regs);
	}
	while (*nr < max) {
		struct walk_rule rule;
		enum walk_status status;

		if (!ops->find_rule(context, walk_lookup_pc(regs), &rule))
			return WALK_NEED_DWARF;
		status = walk_apply(&rule, regs, &walk);
		if (status != WALK_OK)
			return status;
		sps[*nr] = regs->sp;
		frames[(*nr)++] = user_walk_frame(regs);
	}
	return WALK_OK;
}
