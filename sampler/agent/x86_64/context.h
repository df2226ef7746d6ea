/*
 * The registers of an interrupted thread, as the x86-64 kernel hands them to a signal handler:
 * struct ucontext of asm/ucontext.h with the struct sigcontext in it.
 */
#ifndef SPROF_AGENT_X86_64_CONTEXT_H
#define SPROF_AGENT_X86_64_CONTEXT_H

#include <linux/types.h>

struct agent_ucontext {
	__u64 flags, link;
	__u64 stack[3];
	__u64 gregs[16]; /* in the order of struct sigcontext: WALK_UCONTEXT_ORDER */
	__u64 pc, eflags;
};

#define AGENT_SYSCALL_BYTES 2u /* of the instruction */

static inline __u64 agent_context_sp(const struct agent_ucontext *uc)
{
	return uc->gregs[15];
}

/*
 * Was the thread interrupted right behind a system call? The syscall instruction leaves its return
 * address in rcx and the flags in r11.
 */
static inline int agent_context_is_behind_syscall(const struct agent_ucontext *uc)
{
	return uc->gregs[14] == uc->pc && uc->gregs[3] == uc->eflags;
}

/*
 * Did the signal interrupt a system call that is made again when the handler returns? Then the
 * kernel has set the pc back by the two bytes of the instruction, and the number is in rax again.
 */
static inline int agent_context_repeats_syscall(const struct agent_ucontext *uc)
{
	return uc->gregs[14] == uc->pc + AGENT_SYSCALL_BYTES && uc->gregs[3] == uc->eflags;
}

/* What a system call returned, or the number of one that is made again. */
static inline __s64 agent_context_result(const struct agent_ucontext *uc)
{
	return (__s64)uc->gregs[13];
}

/* Argument 0 to 3 of the system call, which the kernel leaves as they were. */
static inline __u64 agent_context_argument(const struct agent_ucontext *uc, int i)
{
	return uc->gregs[i == 3 ? 2 : i == 2 ? 12 : 8 + i]; /* rdi, rsi, rdx, r10 */
}

/*
 * The number of the system call whose instruction ends `code`, by the instruction before it that
 * sets eax; -1: none is seen. Code of another kind in between can only lead to a wrong number of
 * a call, not to a wrong read.
 */
static inline __s32 agent_call_number(const __u8 *code, __u32 size)
{
	if (size < AGENT_SYSCALL_BYTES || code[size - 2] != 0x0f || code[size - 1] != 0x05)
		return -1;
	for (__u32 at = size - AGENT_SYSCALL_BYTES; at-- > 0;) {
		__u32 left = size - AGENT_SYSCALL_BYTES - at;

		if (left >= 5 && code[at] == 0xb8 && !code[at + 3] && !code[at + 4])
			return code[at + 1] | code[at + 2] << 8; /* mov $number, %eax */
		if (left >= 2 && code[at] == 0x31 && code[at + 1] == 0xc0)
			return 0; /* xor %eax, %eax */
	}
	return -1;
}

#endif
