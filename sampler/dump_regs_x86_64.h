/* What dump.c knows of x86-64: the registers of a stopped thread, as ptrace(2) gives them. */
#ifndef SPROF_DUMP_REGS_X86_64_H
#define SPROF_DUMP_REGS_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "core/portable/walk.h"

#define USER32_CS 0x23 /* the code segment of a 32-bit program */

static inline void dump_take_regs(struct walk_regs *to, const struct user_regs_struct *r)
{
	*to = (struct walk_regs){
		.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		/* Inside a system call the pc is a return address. */
		.exact = (int64_t)r->orig_rax == -1,
		.leaf_regs = 1,
		/* DWARF's order */
		.gpr = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
	};
}

static inline bool dump_is_32bit(const struct user_regs_struct *r)
{
	return r->cs == USER32_CS;
}

static inline uint64_t dump_thread_pointer(const struct user_regs_struct *r)
{
	return r->fs_base;
}

#endif
