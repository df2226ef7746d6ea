/*
 * The registers of a stopped thread by what they mean, so that no other file names one. Source: the
 * System V ABI of x86-64, and the kernel's calling convention for system calls (syscall(2)).
 */
#ifndef SPROF_X86_64_REGISTERS_H
#define SPROF_X86_64_REGISTERS_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#define INJECT_VECTOR_STATE NT_X86_XSTATE /* what PTRACE_GETREGSET calls it */
#define INJECT_RED_ZONE 128u /* bytes below the stack pointer that a leaf function uses */

#define INJECT_CODE_SEGMENT 0x33 /* of 64-bit user code */
#define INJECT_EFLAGS 0x202	 /* interrupts on, direction forward */

static inline uint64_t inject_regs_pc(const struct user_regs_struct *r)
{
	return r->rip;
}

static inline void inject_regs_set_pc(struct user_regs_struct *r, uint64_t pc)
{
	r->rip = pc;
}

static inline uint64_t inject_regs_sp(const struct user_regs_struct *r)
{
	return r->rsp;
}

/* Does the thread run 64-bit code? */
static inline bool inject_regs_are_64_bit(const struct user_regs_struct *r)
{
	return r->cs == INJECT_CODE_SEGMENT;
}

/* The system call that the stop interrupted; -1: none. */
static inline int64_t inject_regs_syscall(const struct user_regs_struct *r)
{
	return (int64_t)r->orig_rax < 0 ? -1 : (int64_t)r->orig_rax;
}

/* What a system call has returned. */
static inline int64_t inject_regs_result(const struct user_regs_struct *r)
{
	return (int64_t)r->rax;
}

/* The second argument of the system call that was interrupted. */
static inline uint64_t inject_regs_second_argument(const struct user_regs_struct *r)
{
	return r->rsi;
}

/* Makes the thread run code at pc on the stack at sp; what it was stopped in is not restarted. */
static inline void inject_regs_jump(struct user_regs_struct *r, uint64_t pc, uint64_t sp)
{
	r->rip = pc;
	r->rsp = sp;
	r->orig_rax = (uint64_t)-1;
	r->eflags = INJECT_EFLAGS;
}

/* Before inject_regs_jump() to a system call instruction; `args` has six. */
static inline void inject_regs_set_call(struct user_regs_struct *r, uint64_t number,
					const uint64_t *args)
{
	r->rax = number;
	r->rdi = args[0];
	r->rsi = args[1];
	r->rdx = args[2];
	r->r10 = args[3];
	r->r8 = args[4];
	r->r9 = args[5];
}

/* Before inject_regs_jump() to the stub. */
static inline void inject_regs_set_mailbox(struct user_regs_struct *r, uint64_t mailbox)
{
	r->rbx = mailbox;
}

#endif
