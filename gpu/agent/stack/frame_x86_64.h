/*
 * How x86-64 lays out a stack: what the walk of a launch knows beyond its unwind rules. The
 * portable step (core/portable/walk_step.h) applies the rules; the fast paths of launch_stack.c
 * take this from here.
 */
#ifndef SPROF_GPU_AGENT_FRAME_X86_64_H
#define SPROF_GPU_AGENT_FRAME_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "core/portable/walk.h"

/*
 * Where a call pushed the return address: right below the stack pointer that the caller then has.
 */
static inline uint64_t frame_return_slot(uint64_t caller_sp)
{
	return caller_sp - 8;
}

/*
 * The registers of the caller of the function whose frame pointer this is: it points to the saved
 * frame pointer, and the return address follows. False where there is no caller.
 */
static inline bool frame_caller(const void *frame, struct walk_regs *regs)
{
	const uint64_t *f = frame;

	regs->fp = f[0];
	regs->pc = f[1];
	regs->sp = (uint64_t)f + 16;
	regs->exact = 0;
	regs->leaf_regs = 0;
	return regs->pc != 0;
}

#endif
