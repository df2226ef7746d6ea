/*
 * libunwind's names for the registers of a walk. It numbers them as DWARF does, and the pc behind
 * them.
 */
#ifndef SPROF_LIBUNWIND_X86_64_H
#define SPROF_LIBUNWIND_X86_64_H

#include <stdbool.h>

#include <libunwind-x86_64.h>

#include "core/portable/walk.h"

#define LIBUNWIND_PC UNW_X86_64_RIP
#define LIBUNWIND_SP UNW_X86_64_RSP
#define LIBUNWIND_FP UNW_X86_64_RBP

/* The value of a register of the frame that a walk starts in; false where it is not known. */
static inline bool libunwind_register(const struct walk_regs *regs, unw_regnum_t number,
				      unw_word_t *ret)
{
	if (number == LIBUNWIND_PC)
		/* libunwind takes the first pc as exact: give it one inside the call */
		*ret = regs->exact ? regs->pc : regs->pc - 1;
	else if (number == LIBUNWIND_SP)
		*ret = regs->sp;
	else if (number == LIBUNWIND_FP)
		*ret = regs->fp;
	else if (number >= 0 && number < WALK_NR_REGS && regs->leaf_regs)
		*ret = regs->gpr[number];
	else
		return false;
	return true;
}

#endif
