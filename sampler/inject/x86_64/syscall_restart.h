/*
 * What becomes of a system call that a stop interrupts. The kernel restarts most of them when the
 * thread goes on with the registers that it was stopped with. Some fail with EINTR though no signal
 * came, and a program may take that for a signal.
 *
 * Source: the kernel's arch_do_signal_or_restart() and the list of signal(7), "Interruption of
 * system calls and library functions by stop signals".
 */
#ifndef SPROF_SYSCALL_RESTART_H
#define SPROF_SYSCALL_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

/* How much a stop disturbs a thread; the lower the better. */
enum inject_rank {
	INJECT_RANK_RESTARTS, /* waits in a call that the kernel restarts without a trace */
	INJECT_RANK_RUNS,     /* computes, or is between calls */
	INJECT_RANK_RESUMES, /* a timed wait: goes on for the time left, unless the recorder dies */
	INJECT_RANK_RETURNS, /* fails with EINTR, which we must undo: a timeout begins anew */
	INJECT_RANK_NEVER,   /* cannot be stopped, or the stop cannot be undone */
};

/* `args` has six. */
enum inject_rank inject_restart_rank(uint64_t syscall, const uint64_t *args);

/*
 * Does it wait, as vfork(2) does, until a child has begun another program? Such a thread sleeps as
 * deeply as one in a page fault, and no signal wakes it.
 */
bool inject_restart_waits_for_child(long syscall);

/* Has the kernel a call to restart? */
bool inject_restart_is_pending(const struct user_regs_struct *regs);

/*
 * Changes the registers of a call that is to be restarted so that they make it again, for a way
 * back that the kernel does not look at.
 */
void inject_restart_now(struct user_regs_struct *regs);

/*
 * Undoes the EINTR of a call that only the stop interrupted: makes the call again. Only where no
 * signal waits to be delivered. true: it was such a call.
 */
bool inject_restart_undo_eintr(struct user_regs_struct *regs);

#endif
