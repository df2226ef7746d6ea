/* Compares the call that a stop interrupted with a short list. */
#include "sampler/attach/x86_64/waiting_calls.h"

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "sampler/inject/x86_64/registers.h"

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
