/* What dump.c knows of x86-64: the registers of a stopped thread, as ptrace(2) gives them. */
#ifndef SPROF_DUMP_REGS_X86_64_H
#define SPROF_DUMP_REGS_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#define USER32_CS 0x23 /* the code segment of a 32-bit program */

static inline bool dump_is_32bit(const struct user_regs_struct *r)
{
	return r->cs == USER32_CS;
}

static inline uint64_t dump_thread_pointer(const struct user_regs_struct *r)
{
	return r->fs_base;
}

#endif
