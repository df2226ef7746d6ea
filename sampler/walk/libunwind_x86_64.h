/*
 * libunwind's names for the registers of a walk. It numbers them as DWARF does, and the pc behind
 * them.
 */
#ifndef SPROF_LIBUNWIND_X86_64_H
#define SPROF_LIBUNWIND_X86_64_H

#include <stdint.h>
#include <string.h>

#include <libunwind-x86_64.h>

#include "core/portable/walk.h"

#define LIBUNWIND_PC UNW_X86_64_RIP
#define LIBUNWIND_SP UNW_X86_64_RSP
#define LIBUNWIND_FP UNW_X86_64_RBP

#define LIBUNWIND_NR_REGS (LIBUNWIND_PC + 1)

/* The registers of a frame, by libunwind's numbers. */
struct libunwind_regs {
	uint64_t value[LIBUNWIND_NR_REGS]; /* the pc's is where its rule is looked up */
	uint32_t known;			   /* a bit for each */
};

static inline void libunwind_regs_start(struct libunwind_regs *ret, const struct walk_regs *regs)
{
	ret->known = 1u << LIBUNWIND_PC | 1u << LIBUNWIND_SP | 1u << LIBUNWIND_FP;
	if (regs->leaf_regs) {
		memcpy(ret->value, regs->gpr, sizeof(regs->gpr));
		ret->known |= (1u << WALK_NR_REGS) - 1;
	}
	ret->value[LIBUNWIND_SP] = regs->sp;
	ret->value[LIBUNWIND_FP] = regs->fp;
}

#endif
