/*
 * Registers of x86-64 as perf samples them: in the order of asm/perf_regs.h (ax bx cx dx si di bp sp ip,
 * flags and segments, r8 to r15), where unwinding wants DWARF's order and the pc apart.
 */
#ifndef SPROF_PERF_REGS_X86_64_H
#define SPROF_PERF_REGS_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/walk.h"

#define PERF_REGS_NR 24
#define PERF_REGS_ALL 0xff01ffull	/* the mask of those that unwinding uses */
#define PERF_REGS_USER_END (1ull << 47) /* addresses of user space, without LA57 */

/* The DWARF number of perf's register i; WALK_NR_REGS for the pc, -1 where unwinding has no use for it. */
static inline int perf_regs_dwarf(unsigned int i)
{
	static const int8_t dwarf[PERF_REGS_NR] = { 0,	3,  2,	1,  4, 5, 6,  7,  16, -1, -1, -1,
						    -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15 };

	return i < PERF_REGS_NR ? dwarf[i] : -1;
}
_Static_assert(WALK_NR_REGS == 16, "the pc's number");

/*
 * Of a sample in the kernel: was it entered by a system call, so that the pc is a return address? The
 * syscall instruction puts it into rcx.
 */
static inline bool perf_regs_in_syscall(const uint64_t gpr[WALK_NR_REGS], uint64_t pc)
{
	return gpr[2] == pc;
}

#endif
