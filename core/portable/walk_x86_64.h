/*
 * The x86-64 part of a walk: its registers by DWARF number (psABI figure 3.36), and where a signal
 * frame keeps them. Another architecture needs a file like this and a choice in walk.h.
 */
#ifndef SPROF_WALK_X86_64_H
#define SPROF_WALK_X86_64_H

#define WALK_NR_REGS 16 /* rax rdx rcx rbx rsi rdi rbp rsp r8..r15 */
#define WALK_REG_FP 6
#define WALK_REG_SP 7
#define WALK_REG_RA 16 /* not a register: the column of the return address */

#define WALK_USER_END (1ull << 47) /* user addresses end here, with four-level page tables */

/* The syscall instruction puts its return address into rcx. */
#define WALK_REG_SYSCALL_PC 2

/*
 * rax rdx rcx rsi rdi r8..r11: callees may change them, so above the leaf their values are those of
 * the leaf. Hand-written code (AES-GCM in libcrypto) keeps its frame in one of them across calls of
 * its own helpers; if it was overwritten, the CFA is out of reach and is not believed.
 */
#define WALK_SCRATCH_REGS 0x0f37u

/*
 * struct ucontext (arch/x86/include/uapi/asm/sigcontext.h): gregs start at byte 40. The DWARF
 * numbers of the first 16, one nibble each: r8..r15 rdi rsi rbp rbx rdx rax rcx rsp; rip is the
 * 17th.
 */
#define WALK_UCONTEXT_GREGS 40
#define WALK_UCONTEXT_ORDER 0x72013645fedcba98ull

#endif
