/*
 * What becomes of a system call that a stop broke into. Most are restarted by the kernel when the
 * thread goes on with the registers that it was stopped with. Some are not: they say EINTR, though no
 * signal came, and a program may take that for one.
 *
 * Source: the kernel's arch_do_signal_or_restart() and the list of signal(7), "Interruption of system
 * calls and library functions by stop signals".
 */
#ifndef SPROF_SYSCALL_RESTART_H
#define SPROF_SYSCALL_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

/* How gladly a thread is stopped; the lower the better. */
enum inject_rank {
	INJECT_RANK_RESTARTS, /* waits in a call that the kernel restarts as if nothing had been */
	INJECT_RANK_RUNS,     /* computes, or is between calls */
	INJECT_RANK_RESUMES, /* a timed wait: goes on for the time left, unless the recorder dies */
	INJECT_RANK_RETURNS, /* EINTR that we must undo: a timeout begins anew */
	INJECT_RANK_NEVER,   /* cannot be stopped, or not undone */
};

/* `args` has six. */
enum inject_rank inject_restart_rank(uint64_t syscall, const uint64_t *args);

/*
 * Does it wait, as vfork(2) does, until a child has begun another program? Such a thread sleeps as deeply as one in a page
 * fault, and no signal wakes it.
 */
bool inject_restart_waits_for_child(long syscall);

/* Does the kernel have a call to restart? And one whose state is outside the registers? */
bool inject_restart_is_pending(const struct user_regs_struct *regs);
bool inject_restart_has_block(const struct user_regs_struct *regs);

/* Turns "restart it" into "make it", for a way back that the kernel does not look at. */
void inject_restart_now(struct user_regs_struct *regs);

/*
 * EINTR from a call that a mere stop ends: makes the call again. Only where no signal is there to be
 * delivered. true: it was such a call.
 */
bool inject_restart_undo_eintr(struct user_regs_struct *regs);

#endif
