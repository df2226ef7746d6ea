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

#endif
