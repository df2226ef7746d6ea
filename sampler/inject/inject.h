/*
 * System calls and calls of functions in somebody else's process: one thread of it is stopped, made to
 * run them, and put back as it was.
 *
 *	inject_open		look at the process; nothing is stopped yet
 *	inject_stop		a thread stops, and a page of our code (the stub) is there
 *	inject_syscall ...	the thread runs what we ask for
 *	inject_resume		the thread goes on
 *	inject_stop, inject_unmap	the stub's page goes too, and what lies behind it
 *	inject_close
 *
 * The recorder may die at any moment: the thread then goes on by itself, within a tenth of a second.
 * Everything must be called from one thread of the recorder; inject_run() has one for it.
 *
 * Nothing here reports: the reason is for the caller to print.
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
 * `stub` is where this recorder left its stub at an earlier visit, or 0: what is found is then taken for
 * that of a recorder that died, and waited for until no thread is in there; and its seccomp filters are asked
 * whether they allow what is to be done. 0, or -errno and the reason as inject_process_open() and
 * inject_seccomp_check() have them; -EBUSY: another one is at work.
 */
int inject_open(pid_t pid, uint64_t stub, struct inject **ret_inject, struct inject_reason *reason);
/* Lets go of everything, a stopped thread included. NULL is fine. */
void inject_close(struct inject *inject);

/*
 * Opens the process and has `work` do its part, on a thread of its own, and closes it again. Whatever
 * `work` leaves, the end of that thread lets go of every thread of the target. Returns what work
 * returned, or why it could not begin.
 */
int inject_run(pid_t pid, uint64_t stub, int (*work)(struct inject *inject, void *context),
	       void *context, struct inject_reason *reason);

/*
 * Stops a thread within limit_ms and makes it ours. `accept` as inject_thread_stop(), or NULL. 0, or
 * -errno and the reason; nothing is stopped then.
 */
int inject_stop(struct inject *inject, unsigned int limit_ms, inject_accept accept, void *context,
		struct inject_reason *reason);
/* Ends a stop. 0, or -ESRCH: the thread is gone. */
int inject_resume(struct inject *inject);
/*
 * Would a visit be refused? 0, or -errno and the reason. Threads are stopped only where there are seccomp filters
 * to be read.
 */
int inject_probe(pid_t pid, struct inject_reason *reason);

/*
 * Ends a stop too, and unmaps [start, start + size) just before, by the process's own code: the stub
 * may lie in there. 0, or -errno of munmap(2); the thread goes on in any case.
 */
int inject_unmap(struct inject *inject, uint64_t start, uint64_t size);
/* Length of the last stop, from asking for it to letting go. */
uint64_t inject_stop_ns(const struct inject *inject);
/* The thread that is stopped. */
const struct inject_thread *inject_thread(const struct inject *inject);
const struct inject_process *inject_process(const struct inject *inject);

/*
 * Runs `nr` (<= INJECT_NR_CALLS) calls in order, up to the first that fails, and fills their results, in
 * limit_ms. -ESRCH: the thread
 * is gone; -ETIMEDOUT: they are not done, or the thread has left by itself; -EFAULT: it crashed in
 * one. The results may be -errno, which is not looked at here; what came to be dropped has -ECANCELED.
 */
int inject_calls(struct inject *inject, struct inject_call *calls, unsigned int nr,
		 unsigned int limit_ms);
/* Stops the thread wherever it is in our code: what it has not begun to do it does no more. 0, or -errno. */
int inject_halt(struct inject *inject);
/* After that: lets it run on where it stands. 0, or -errno. */
int inject_run_on(struct inject *inject);
/* Goes on waiting for the one call that inject_calls() has given up; as that. */
int inject_await(struct inject *inject, struct inject_call *call, unsigned int limit_ms);
/*
 * Ends a stop without taking the thread back: it finishes what it was asked for, and then goes on by itself, as
 * if the recorder had died.
 */
void inject_abandon(struct inject *inject);
#define INJECT_SYSCALL_MS 1000u /* a limit for system calls that do not wait */
/* One system call; `args` has six. 0 and its result, which may be -errno; or as inject_calls(). */
int inject_syscall(struct inject *inject, unsigned int number, const uint64_t *args,
		   int64_t *ret_result);
/*
 * One function with up to four arguments, on a stack of its own whose top is given, all signals
 * blocked. It may use the vector registers.
 */
int inject_call(struct inject *inject, uint64_t function, const uint64_t *args, uint64_t stack_top,
		unsigned int limit_ms, int64_t *ret_result);

/*
 * Is the stopped thread still ours? The mailbox and the scratch lie on a stack, which is the program's again when the
 * thread has left by itself, because we were late: to be asked right before anything is written there, and
 * after what was read. 0, -ETIMEDOUT, -ESRCH.
 */
int inject_is_held(const struct inject *inject);
/* Memory of the target for arguments, INJECT_SCRATCH_SIZE bytes, while it is stopped. */
#define INJECT_SCRATCH_SIZE 512u
uint64_t inject_scratch(const struct inject *inject);
/* Address of the mailbox, for its control[] and descriptors[]. */
uint64_t inject_mailbox(const struct inject *inject);

/*
 * Where the stub is, INJECT_STUB_SIZE bytes; the addresses behind it are free as far as
 * inject_process_address() says. 0 before the first stop.
 */
#define INJECT_STUB_SIZE 4096u
uint64_t inject_stub(const struct inject *inject);

/*
 * What the thread unmaps when it leaves by itself because the recorder died: the stub at first. size 0:
 * nothing, because code in there is in use.
 */
int inject_unmap_on_death(struct inject *inject, uint64_t start, uint64_t size);
/* The same with size 0, as two calls to be put among others. */
void inject_keep_calls(const struct inject *inject, struct inject_call *calls);

#endif
