/*
 * The system call instruction of x86-64, and the thread pointer, which only a system call tells
 * without reading a segment register's base.
 */
#ifndef SPROF_AGENT_SYSTEM_CALL_H
#define SPROF_AGENT_SYSTEM_CALL_H

#include <asm/unistd.h>
#include <linux/types.h>

#define AGENT_ARCH_GET_FS 0x1003 /* ARCH_GET_FS of asm/prctl.h */

/* The result, or -errno. */
static inline long agent_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * The address from which the calling thread's thread-local variables are counted; 0: it is not
 * known.
 */
static inline __u64 agent_thread_pointer(void)
{
	__u64 pointer = 0;

	return agent_syscall(__NR_arch_prctl, AGENT_ARCH_GET_FS, (long)&pointer, 0, 0, 0, 0)
		       ? 0
		       : pointer;
}

#endif
