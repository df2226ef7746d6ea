/* System calls without libc: no errno, no cancellation points, no symbols. Result or -errno. */
#ifndef SPROF_AGENT_SYSCALL_H
#define SPROF_AGENT_SYSCALL_H

#include <asm/unistd.h>
#include <linux/types.h>

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

#define agent_syscall0(n) agent_syscall(n, 0, 0, 0, 0, 0, 0)
#define agent_syscall1(n, a) agent_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define agent_syscall2(n, a, b) agent_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define agent_syscall3(n, a, b, c) agent_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define agent_syscall4(n, a, b, c, d)                                                              \
	agent_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define agent_syscall6(n, a, b, c, d, e, f)                                                        \
	agent_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
