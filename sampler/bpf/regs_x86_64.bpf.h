/* What the BPF program knows of x86-64: the registers of an interrupted thread, and its modes. */
#ifndef SPROF_REGS_X86_64_BPF_H
#define SPROF_REGS_X86_64_BPF_H

#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>

#include "core/portable/walk.h"

#define USER_CS 0x33
#define USER32_CS 0x23
#define SYS_EXECVE 59
#define SYS_EXECVEAT 322
#define MAX_INSTRUCTION 16 /* bytes: 15, and one past them */

static __always_inline void take_regs(struct walk_regs *w, const struct pt_regs *r)
{
	w->pc = r->rip;
	w->sp = r->rsp;
	w->fp = r->rbp;
	w->gpr[0] = r->rax;
	w->gpr[1] = r->rdx;
	w->gpr[2] = r->rcx;
	w->gpr[3] = r->rbx;
	w->gpr[4] = r->rsi;
	w->gpr[5] = r->rdi;
	w->gpr[6] = r->rbp;
	w->gpr[7] = r->rsp;
	w->gpr[8] = r->r8;
	w->gpr[9] = r->r9;
	w->gpr[10] = r->r10;
	w->gpr[11] = r->r11;
	w->gpr[12] = r->r12;
	w->gpr[13] = r->r13;
	w->gpr[14] = r->r14;
	w->gpr[15] = r->r15;
	w->leaf_regs = 1;
}

/* Kernel addresses are the upper half. */
static __always_inline bool regs_in_kernel(const struct pt_regs *r)
{
	return (__s64)r->rip < 0;
}

static __always_inline bool regs_are_32bit(const struct pt_regs *r)
{
	return r->cs == USER32_CS;
}

/* While an exec is under way there are no user registers. */
static __always_inline bool regs_are_user(const struct pt_regs *r)
{
	return r->cs == USER_CS && r->rip;
}

/*
 * The pc of a thread that is inside the kernel is a return address after a system call, exact after
 * an interrupt (orig_rax is -1). exec returns to the first instruction of a new program.
 */
static __always_inline bool regs_pc_is_exact(const struct pt_regs *r)
{
	return (__s64)r->orig_rax == -1 || r->orig_rax == SYS_EXECVE || r->orig_rax == SYS_EXECVEAT;
}

/* glibc and musl put a thread's control block, to which this points, at the top of its stack. */
#define TASK_THREAD_POINTER(task) BPF_CORE_READ(task, thread.fsbase)

#endif
