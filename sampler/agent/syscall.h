/*
 * System calls without libc: no errno, no cancellation points, no symbols. Each returns the result
 * or -errno.
 */
#ifndef SPROF_AGENT_SYSCALL_H
#define SPROF_AGENT_SYSCALL_H

#include "sampler/agent/x86_64/system_call.h"

#define agent_syscall0(n) agent_syscall(n, 0, 0, 0, 0, 0, 0)
#define agent_syscall1(n, a) agent_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define agent_syscall2(n, a, b) agent_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define agent_syscall3(n, a, b, c) agent_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define agent_syscall4(n, a, b, c, d)                                                              \
	agent_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define agent_syscall6(n, a, b, c, d, e, f)                                                        \
	agent_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
