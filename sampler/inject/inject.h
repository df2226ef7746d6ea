/*
 * System calls and calls of functions in another process: one of its threads is stopped, runs them,
 * and is put back as it was.
 *
 *	inject_open		look at the process; nothing is stopped yet
 *	inject_stop		stop a thread; a page of our code (the stub) is mapped
 *	inject_syscall ...	the thread runs what we ask for
 *	inject_resume		the thread goes on
 *	inject_stop, inject_unmap	the stub's page is unmapped, and what lies behind it
 *	inject_close
 *
 * The recorder may die at any moment: then the thread goes on by itself, within a tenth of a
 * second. All of this must be called from one thread of the recorder; inject_run() makes one.
 *
 * Nothing here reports an error: the caller prints the reason.
 */
#ifndef SPROF_INJECT_H
#define SPROF_INJECT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/inject/inject_process.h"
#include "sampler/inject/x86_64/stub.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/reason.h"

struct inject;

/*
 * `stub` is where this recorder left its stub at an earlier visit, or 0. With 0, a stub that is
 * found is taken for that of a recorder that died, and waited for until no thread is in it; and the
 * process's seccomp filters are asked whether they allow what is to be done. 0, or -errno and the
 * reason as inject_process_open() and inject_seccomp_check() have them; -EBUSY: another recorder is
 * at work.
 */
int inject_open(pid_t pid, uint64_t stub, struct inject **ret_inject, struct inject_reason *reason);
/* Releases everything, a stopped thread included. NULL is fine. */
void inject_close(struct inject *inject);

/*
 * Opens the process, calls `work` on a thread made for it, and closes the process again. Whatever
 * `work` leaves behind, the kernel releases every thread of the target when that thread ends.
 * Returns what `work` returned, or why it could not begin.
 */
int inject_run(pid_t pid, uint64_t stub, int (*work)(struct inject *inject, void *context),
	       void *context, struct inject_reason *reason);

/*
 * Stops a thread within limit_ms and has it run the stub. `accept` as in inject_thread_stop(), or
 * NULL. 0, or -errno and the reason; then nothing is stopped.
 */
int inject_stop(struct inject *inject, unsigned int limit_ms, inject_accept accept, void *context,
		struct inject_reason *reason);
/* Ends a stop. 0, or -ESRCH: the thread is gone. */
int inject_resume(struct inject *inject);
/*
 * Would a visit be refused? 0, or -errno and the reason. Threads are stopped only where there are
 * seccomp filters to be read.
 */
int inject_probe(pid_t pid, struct inject_reason *reason);

/*
 * Ends a stop too, and unmaps [start, start + size) just before, by the process's own code, so the
 * stub may lie in there. 0, or -errno of munmap(2); the thread goes on in either case.
 */
int inject_unmap(struct inject *inject, uint64_t start, uint64_t size);
/* Length of the last stop, from the request to the release. */
uint64_t inject_stop_ns(const struct inject *inject);
/* The thread that is stopped. */
const struct inject_thread *inject_thread(const struct inject *inject);
const struct inject_process *inject_process(const struct inject *inject);

/*
 * Runs `nr` (<= INJECT_NR_CALLS) calls in order, up to the first that fails, within limit_ms, and
 * fills their results. The results may be -errno and are not looked at here; a call that was not
 * made has -ECANCELED. -ESRCH: the thread is gone; -ETIMEDOUT: the calls are not done, or the
 * thread has left by itself; -EFAULT: it crashed in one.
 */
int inject_calls(struct inject *inject, struct inject_call *calls, unsigned int nr,
		 unsigned int limit_ms);
/*
 * Stops the thread wherever it is in our code; calls that it has not begun are not made. 0 or
 * -errno.
 */
int inject_halt(struct inject *inject);
/* After inject_halt(): lets the thread run on from where it is. 0 or -errno. */
int inject_run_on(struct inject *inject);
/* Goes on waiting for one call after inject_calls() has timed out; returns as inject_calls(). */
int inject_await(struct inject *inject, struct inject_call *call, unsigned int limit_ms);
/*
 * Ends a stop without taking the thread back: it finishes its calls and then goes on by itself, as
 * if the recorder had died.
 */
void inject_abandon(struct inject *inject);
#define INJECT_SYSCALL_MS 1000u /* for system calls that do not wait */
/*
 * Makes one system call; `args` has six. 0 and its result, which may be -errno; or as
 * inject_calls().
 */
int inject_syscall(struct inject *inject, unsigned int number, const uint64_t *args,
		   int64_t *ret_result);

/*
 * Does the stopped thread still run our code? The mailbox and the scratch lie on a stack that
 * belongs to the program again once the thread has left by itself, because we were late. Asked
 * right before anything is written there, and after what was read. 0, -ETIMEDOUT, -ESRCH.
 */
int inject_is_held(const struct inject *inject);
/* Memory in the target for arguments, INJECT_SCRATCH_SIZE bytes, during a stop. */
#define INJECT_SCRATCH_SIZE 512u
uint64_t inject_scratch(const struct inject *inject);
/* Address of the mailbox, for its control[] and descriptors[]. */
uint64_t inject_mailbox(const struct inject *inject);

/*
 * Address of the stub, INJECT_STUB_SIZE bytes; the addresses behind it are free as far as
 * inject_process_address() says. 0 before the first stop.
 */
#define INJECT_STUB_SIZE 4096u
uint64_t inject_stub(const struct inject *inject);
/*
 * Before the first stop: a stub that has shared files behind it belongs to an attach that may still
 * be there, so another one is mapped. Without this, a stub that is found is taken over.
 */
void inject_leave_others(struct inject *inject);

/*
 * What the thread unmaps when it leaves by itself because the recorder died; at first the stub.
 * size 0: nothing, because code in there is in use.
 */
int inject_unmap_on_death(struct inject *inject, uint64_t start, uint64_t size);
/* inject_unmap_on_death() with size 0, as two calls that can be made among others. */
void inject_keep_calls(const struct inject *inject, struct inject_call *calls);

#endif
