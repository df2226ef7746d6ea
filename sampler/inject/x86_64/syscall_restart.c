/*
 * Tables of system calls by how they take a stop, and what the registers of an interrupted one say.
 */
#include "sampler/inject/x86_64/syscall_restart.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

/* Errors inside the kernel; user space never sees them. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

#define SYSCALL_SIZE 2 /* of the instruction */
#define NR_EPOLL_PWAIT2 441
#define NR_CLONE3 435

/* These return -EINTR on a stop, before anything has happened, so they can be made again. */
static const uint16_t returning[] = {
	SYS_epoll_wait, SYS_epoll_pwait, NR_EPOLL_PWAIT2,  SYS_rt_sigtimedwait, SYS_recvfrom,
	SYS_recvmsg,	SYS_recvmmsg,	 SYS_accept,	   SYS_accept4,		SYS_sendto,
	SYS_sendmsg,	SYS_read,	 SYS_readv,	   SYS_write,		SYS_writev,
	SYS_semop,	SYS_semtimedop,	 SYS_io_getevents, SYS_io_uring_enter,
};

/* The calls of `returning` that usually wait, and so return -EINTR. */
static const uint16_t mostly_returning[] = {
	SYS_epoll_wait, SYS_epoll_pwait,  NR_EPOLL_PWAIT2,    SYS_rt_sigtimedwait, SYS_recvfrom,
	SYS_recvmsg,	SYS_recvmmsg,	  SYS_sendto,	      SYS_sendmsg,	   SYS_semop,
	SYS_semtimedop, SYS_io_getevents, SYS_io_uring_enter,
};

static bool is_in(const uint16_t *list, size_t nr, uint64_t syscall)
{
	for (size_t i = 0; i < nr; i++) {
		if (list[i] == syscall)
			return true;
	}
	return false;
}

#define IN(list, syscall) is_in(list, sizeof(list) / sizeof(*(list)), syscall)

enum inject_rank inject_restart_rank(uint64_t syscall, const uint64_t *args)
{
	switch (syscall) {
	case SYS_vfork:
	case SYS_clone: /* waits as vfork(2) does */
	case NR_CLONE3:
	case SYS_exit:
	case SYS_exit_group:
	case SYS_execve:
	case SYS_execveat:
	case SYS_connect: /* a second one fails with EALREADY */ return INJECT_RANK_NEVER;
	case SYS_futex: return args[3] ? INJECT_RANK_RESUMES : INJECT_RANK_RESTARTS;
	case SYS_clock_nanosleep:
		return args[1] & TIMER_ABSTIME ? INJECT_RANK_RESTARTS : INJECT_RANK_RESUMES;
	case SYS_nanosleep:
	case SYS_poll:
	case SYS_restart_syscall: return INJECT_RANK_RESUMES;
	default: break;
	}
	return IN(mostly_returning, syscall) ? INJECT_RANK_RETURNS : INJECT_RANK_RESTARTS;
}

bool inject_restart_waits_for_child(long syscall)
{
	return syscall == SYS_vfork || syscall == SYS_clone || syscall == NR_CLONE3;
}

bool inject_restart_is_pending(const struct user_regs_struct *r)
{
	int64_t error = -(int64_t)r->rax;

	return (int64_t)r->orig_rax >= 0 &&
	       (error == ERESTARTSYS || error == ERESTARTNOINTR || error == ERESTARTNOHAND ||
		error == ERESTART_RESTARTBLOCK);
}

static void make_again(struct user_regs_struct *r)
{
	r->rip -= SYSCALL_SIZE;
	r->rax = r->orig_rax;
	r->orig_rax = (uint64_t)-1;
}

void inject_restart_now(struct user_regs_struct *r)
{
	if (inject_restart_is_pending(r))
		make_again(r);
}

bool inject_restart_undo_eintr(struct user_regs_struct *r)
{
	if ((int64_t)r->orig_rax < 0 || (int64_t)r->rax != -4 || !IN(returning, r->orig_rax))
		return false;
	make_again(r);
	return true;
}
