/*
 * Stops one thread of a process, the least disturbed one, and lets it go on exactly as it was:
 * registers, vector state, signal mask, the system call that it was in.
 *
 * All calls for one thread must come from one thread of the recorder, because ptrace(2) requires
 * it. When that thread ends, the kernel releases what it still holds.
 */
#ifndef SPROF_PTRACE_THREAD_H
#define SPROF_PTRACE_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/inject/x86_64/signal_frame.h"

struct inject_process;
struct inject_reason;

#define INJECT_MAX_HUNG 64

struct inject_thread {
	const struct inject_process *process; /* its process; must outlive this */
	pid_t tid;			      /* 0: none is stopped */
	uint64_t stopped_ns;		      /* when the stop was asked for, CLOCK_MONOTONIC */
	struct inject_thread_state state;
	uint64_t rseq;	       /* address of its struct rseq, or 0 */
	bool is_masked;	       /* all its signals are blocked */
	bool stop_signal_kept; /* SIGSTOP came while we held it */
	bool gone;	       /* it ended while we held it */
	/* Threads that were asked to stop and have not yet; they are released when they do. */
	pid_t hung[INJECT_MAX_HUNG];
	unsigned int nr_hung;
};

/* May this stopped thread be used? */
typedef bool (*inject_accept)(void *context, const struct inject_thread *thread);

/*
 * Stops a thread, trying them in the order of pick_thread.h; `accept` may be NULL. Its state is
 * then in thread->state; inject_thread_set() changes it. 0, or -errno and the reason: -EPERM,
 * -ESRCH, -EBUSY (none stopped within limit_ms, or none was accepted).
 */
int inject_thread_stop(struct inject_thread *thread, const struct inject_process *process,
		       unsigned int limit_ms, inject_accept accept, void *context,
		       struct inject_reason *reason);

/* Stops this one thread. 0 or -errno. */
int inject_thread_stop_one(struct inject_thread *thread, const struct inject_process *process,
			   pid_t tid, unsigned int limit_ms);

/*
 * The two halves of that, for stopping several threads at once: the thread is asked to stop, and is
 * then waited for. A thread that was asked must be awaited. 0 or -errno; -ETIMEDOUT: it is in
 * hung[] now.
 */
int inject_thread_ask_stop(struct inject_thread *thread, const struct inject_process *process,
			   pid_t tid);
int inject_thread_await_stop(struct inject_thread *thread, pid_t tid, unsigned int limit_ms);

/*
 * Gives the thread other registers and blocks all its signals. Its own state stays in thread->state
 * and can be restored at any time.
 */
int inject_thread_set(struct inject_thread *thread, const struct user_regs_struct *regs);
/* Runs it to the next entry or exit of a system call. 0, or -errno: -ESRCH (gone), -ETIMEDOUT. */
int inject_thread_to_syscall(struct inject_thread *thread);
/* Lets it run; it stays held. */
int inject_thread_continue(struct inject_thread *thread);
/* Has something happened to it while it ran? 0: no; -ESRCH: it is gone; -EFAULT: it crashed. */
int inject_thread_check(struct inject_thread *thread);
/* Stops it again. 0, -ESRCH, -ETIMEDOUT. */
int inject_thread_interrupt(struct inject_thread *thread);
int inject_thread_regs(const struct inject_thread *thread, struct user_regs_struct *ret_regs);

/*
 * Restores what it was stopped with (`restore`), or leaves its registers alone, and releases it.
 * Returns when that was, CLOCK_MONOTONIC.
 */
uint64_t inject_thread_release(struct inject_thread *thread, bool restore);

/*
 * Does ptrace(2) return for this thread? A process that starts a program from a file whose FUSE
 * server does not answer holds what the kernel waits for then, and signals do not end that wait. So
 * a child tries first. false: it did not return.
 */
bool inject_thread_can_seize(pid_t tid);

/* Releases the threads of hung[] that have stopped by now. */
void inject_thread_release_hung(struct inject_thread *thread);

#endif
