/*
 * The registers of a stopped or sampled thread, as the kernel hands them out, put in the order of a
 * walk.
 */
#ifndef SPROF_REGISTERS_X86_64_H
#define SPROF_REGISTERS_X86_64_H

#include <stdint.h>

#include "core/portable/walk.h"

struct user_regs_struct;

/*
 * perf_event_attr.sample_regs_user for a walk; asm/perf_regs.h: ax bx cx dx si di bp sp ip, r8 to
 * r15.
 */
#define REGISTERS_PERF_MASK 0xff01ffull
#define REGISTERS_NR_PERF 17

/*
 * Where a walk has a register of perf's number: a DWARF number, WALK_REG_RA for the pc, or -1 where
 * a walk has no use for it.
 */
int registers_of_perf(unsigned int number);

/*
 * Of a thread stopped by ptrace: a leaf frame, its pc exact unless the thread is inside a system
 * call.
 */
struct walk_regs registers_of_ptrace(const struct user_regs_struct *regs);

#endif
