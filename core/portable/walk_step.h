/*
 * One step up a stack by a rule of walk.h. The BPF program, the code inside a target, the walk in
 * user space and the unwinder of snapshots all run it.
 *
 * A file that includes this defines walk_read(), which reads memory of the walked thread. A walk is
 *
 *	rule = the rule at walk_lookup_pc(regs), or that of WALK_RULE_NONE where nothing is mapped;
 *	status = walk_apply(rule, regs, ctx);
 *
 * until status is not WALK_OK. Sources: DWARF 5 section 6.4 and the x86-64 psABI.
 */
#ifndef SPROF_WALK_STEP_H
#define SPROF_WALK_STEP_H

#include "core/portable/walk.h"

/*
 * Defined by the file that includes this. Returns 0 and fills *ret, or not 0 if the address cannot
 * be read. `ctx` is what was given to walk_apply().
 */
static __always_inline int walk_read(void *ctx, __u64 address, __u64 *ret);

#define WALK_GREGS (WALK_NR_REGS + 1) /* words: the registers of a ucontext, and the pc */

/*
 * Reads the WALK_GREGS words at `address`. Returns 0, or not 0 if they cannot be read. A file with
 * a better way than word by word into `buffer` defines WALK_READS_GREGS and its own function.
 */
static __always_inline int walk_read_gregs(void *ctx, __u64 address, __u64 *buffer,
					   const __u64 **ret_gregs);
#ifndef WALK_READS_GREGS
static __always_inline int walk_read_gregs(void *ctx, __u64 address, __u64 *buffer,
					   const __u64 **ret_gregs)
{
	*ret_gregs = buffer;
	for (__u32 i = 0; i < WALK_GREGS; i++)
		if (walk_read(ctx, address + 8 * i, &buffer[i]))
			return 1;
	return 0;
}
#endif

#define WALK_FP_REACH (1u << 20) /* bytes above sp within which a frame pointer is believed */

/*
 * Returns the pc by which to look a rule up: that of the call for a return address, which may lie
 * behind the end of the function if the call does not return.
 */
static __always_inline __u64 walk_lookup_pc(const struct walk_regs *regs)
{
	return regs->exact ? regs->pc : regs->pc - 1;
}

/*
 * Goes up one frame by the frame pointer alone: for code without rules (runtime code) that keeps
 * one. A frame pointer must point a little way up the stack. Above the leaf, 0 marks the outermost
 * frame (psABI 3.4.1); a leaf may keep anything in that register, so zeros where it points do not.
 */
static __always_inline enum walk_status walk_apply_fp(struct walk_regs *regs, void *ctx)
{
	__u64 frame = regs->fp, pc, fp;

	if (!frame && !regs->exact)
		return WALK_END;
	if (frame < regs->sp || frame - regs->sp > WALK_FP_REACH || (frame & 7))
		return WALK_NO_RULE;
	if (walk_read(ctx, frame + 8, &pc) || walk_read(ctx, frame, &fp))
		return WALK_READ_FAULT;
	if (!pc)
		return regs->exact ? WALK_NO_RULE : WALK_END;
	regs->pc = pc;
	regs->sp = frame + 16;
	regs->fp = fp;
	regs->exact = 0;
	regs->leaf_regs = 0;
	return WALK_OK;
}

/*
 * Leaves a signal handler: regs->sp is at the ucontext, which has every register of the interrupted
 * frame. That frame may be on another stack (sigaltstack), so sp may go down.
 */
static __always_inline enum walk_status walk_apply_signal(struct walk_regs *regs, void *ctx)
{
	__u64 buffer[WALK_GREGS];
	const __u64 *gregs;

	if (walk_read_gregs(ctx, regs->sp + WALK_UCONTEXT_GREGS, buffer, &gregs))
		return WALK_READ_FAULT;
	for (__u32 i = 0; i < WALK_NR_REGS; i++)
		regs->gpr[(WALK_UCONTEXT_ORDER >> (4 * i)) & (WALK_NR_REGS - 1)] = gregs[i];
	if (!gregs[WALK_NR_REGS])
		return WALK_END;
	regs->pc = gregs[WALK_NR_REGS];
	regs->sp = regs->gpr[WALK_REG_SP];
	regs->fp = regs->gpr[WALK_REG_FP];
	regs->exact = 1;
	regs->leaf_regs = 1;
	return WALK_OK;
}

/* Finds the CFA by rules that need a register besides sp and fp, which a leaf still has. */
static __always_inline enum walk_status
walk_leaf_cfa(const struct walk_rule *rule, const struct walk_regs *regs, void *ctx, __u64 *ret_cfa)
{
	__s32 offset = rule->cfa_off;
	__u32 reg = offset & (WALK_NR_REGS - 1);
	__u64 value = regs->gpr[reg];

	if (!regs->leaf_regs && (rule->cfa == WALK_CFA_RA_REG || !(WALK_SCRATCH_REGS >> reg & 1)))
		return WALK_NEED_DWARF;
	switch (rule->cfa) {
	case WALK_CFA_REG: *ret_cfa = value + (__s64)(offset >> 8); break;
	case WALK_CFA_RA_REG: *ret_cfa = regs->sp + (__s64)(offset >> 8); break;
	case WALK_CFA_SP_INDEX_DEREF:
		if (walk_read(ctx, regs->sp + 8 * value + (__s64)(offset >> 16), &value))
			return WALK_READ_FAULT;
		*ret_cfa = value + ((__u32)offset >> 8 & 0xff);
		break;
	default: return WALK_NEED_DWARF;
	}
	return *ret_cfa - regs->sp > WALK_FP_REACH ? WALK_BAD_STACK : WALK_OK;
}

/* Finds the CFA by any rule: WALK_OK and *ret_cfa, or the reason why there is none. */
static __always_inline enum walk_status
walk_cfa(const struct walk_rule *rule, const struct walk_regs *regs, void *ctx, __u64 *ret_cfa)
{
	__s32 offset = rule->cfa_off;
	__u64 base = regs->sp;

	switch (rule->cfa) {
	case WALK_CFA_SP: *ret_cfa = base + (__s64)offset; return WALK_OK;
	case WALK_CFA_FP: *ret_cfa = regs->fp + (__s64)offset; return WALK_OK;
	case WALK_CFA_OTHER_STACK: *ret_cfa = regs->fp + 16; return WALK_OK;
	case WALK_CFA_FP_DEREF: base = regs->fp; break;
	case WALK_CFA_SP_DEREF: break;
	case WALK_CFA_OVER_LIMIT: return WALK_OVER_LIMIT;
	case WALK_CFA_PLT:
		*ret_cfa = base + 8 + ((regs->pc & 15) >= (__u32)offset ? 8 : 0);
		return WALK_OK;
	default: return walk_leaf_cfa(rule, regs, ctx, ret_cfa);
	}
	if (walk_read(ctx, base + (__s64)(__s16)(offset & 0xffff), &base))
		return WALK_READ_FAULT;
	*ret_cfa = base + (__s64)(offset >> 16);
	return WALK_OK;
}

/*
 * Goes up one frame. WALK_OK: regs are the caller's, and pc is its return address (with `exact`
 * set, the pc that a signal interrupted). Otherwise the walk is over for the returned reason, and
 * regs are those of the frame it ended in, except that gpr[] may have changed. The CFA must be
 * above sp, so every step goes up the stack but those out of a signal handler and to another stack;
 * the caller bounds the number of steps.
 */
static __always_inline enum walk_status walk_apply(const struct walk_rule *rule,
						   struct walk_regs *regs, void *ctx)
{
	__u64 cfa = 0, pc, fp = regs->fp;
	enum walk_status status;

	if (rule->cfa == WALK_CFA_END)
		return WALK_END;
	if (rule->cfa == WALK_CFA_NONE)
		return walk_apply_fp(regs, ctx);
	if (rule->cfa == WALK_CFA_SIGNAL)
		return walk_apply_signal(regs, ctx);
	status = walk_cfa(rule, regs, ctx, &cfa);
	if (status != WALK_OK)
		return status;
	/* if the return address was popped into a register, the CFA may be sp */
	if ((cfa < regs->sp + (rule->cfa != WALK_CFA_RA_REG) &&
	     rule->cfa != WALK_CFA_OTHER_STACK) ||
	    (cfa & 7))
		return WALK_BAD_STACK;
	if (rule->cfa == WALK_CFA_RA_REG)
		pc = regs->gpr[rule->cfa_off & (WALK_NR_REGS - 1)];
	else if (walk_read(ctx, cfa - 8, &pc))
		return WALK_READ_FAULT;
	if (rule->fp == WALK_FP_CFA || rule->fp == WALK_FP_FP) {
		__u64 base = rule->fp == WALK_FP_CFA ? cfa : fp;

		base += (__s64)rule->fp_off;
		/*
		 * Below sp are values that an epilogue has popped, or the red zone of a leaf. A
		 * copy of the stack may lack them; then the register still has the value.
		 */
		if (walk_read(ctx, base, &fp) && base >= regs->sp)
			fp = 1; /* lost: no later step believes an unaligned value */
	} else if (rule->fp == WALK_FP_UNDEF) {
		fp = 1;
	}
	if (!pc)
		return WALK_END;
	regs->pc = pc;
	regs->sp = cfa;
	regs->fp = fp;
	regs->exact = 0;
	regs->leaf_regs = 0;
	return WALK_OK;
}

#endif
