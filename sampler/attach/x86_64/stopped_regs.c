/* The order of registers of the System V ABI of x86-64, and the system calls that only wait. */
#include "sampler/attach/x86_64/stopped_regs.h"

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "sampler/inject/x86_64/registers.h"

struct walk_regs attach_walk_regs(const struct user_regs_struct *r)
{
	return (struct walk_regs){
		.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		.exact = (int64_t)r->orig_rax == -1,
		.leaf_regs = 1,
		.gpr = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
	};
}

bool attach_waits(const struct user_regs_struct *r)
{
	static const uint16_t calls[] = {
		SYS_nanosleep,	SYS_clock_nanosleep, SYS_poll,
		SYS_ppoll,	SYS_select,	     SYS_pselect6,
		SYS_epoll_wait, SYS_epoll_pwait,     SYS_recvfrom,
		SYS_recvmsg,	SYS_accept,	     SYS_accept4,
		SYS_wait4,	SYS_waitid,	     SYS_rt_sigtimedwait,
		SYS_pause,	SYS_rt_sigsuspend,
	};
	int64_t syscall = inject_regs_syscall(r);

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i] == syscall)
			return true;
	}
	return syscall == SYS_futex &&
	       (inject_regs_second_argument(r) & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}
