/*
 * ptrace(2) on one thread. PTRACE_SEIZE and PTRACE_INTERRUPT, because these send no SIGSTOP and the
 * thread's parent is not told. A thread that does not stop in time stays on a list until it does,
 * to be released then.
 */
#include "sampler/inject/ptrace_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "sampler/inject/inject_check.h"
#include "sampler/inject/pick_thread.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/x86_64/registers.h"
#include "sampler/inject/x86_64/syscall_restart.h"
#include "core/base/proc_status.h"
#include "sampler/inject/reason.h"

/* A thread stops within some 20 us if a CPU is free, so we spin for so long. */
#define SPIN_NS 60000ull
#define NAP_NS 20000
#define HELD_LIMIT_MS 2000u  /* for a held thread to come to its next stop */
#define SEIZE_LIMIT_MS 1000u /* for a child to try */
#define FIRST_LIMIT_MS 20u   /* for a thread to stop, if there are other threads to try */

#define PTRACE_GET_RSEQ 0x420f /* PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13 */
#define RSEQ_CS_OFFSET 8       /* of rseq_cs in struct rseq */

/* From linux/ptrace.h, which cannot be included beside sys/ptrace.h. */
struct rseq_configuration {
	uint64_t address;
	uint32_t size, signature, flags, pad;
};

struct rseq_critical_section {
	uint32_t version, flags;
	uint64_t start, size, abort;
};

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
}

static long request(enum __ptrace_request request, pid_t tid, uintptr_t data)
{
	return ptrace(request, tid, NULL, (void *)data) ? -errno : 0;
}

/* Waits for the next report of a thread until `until_ns`. 0, -ETIMEDOUT, -ESRCH. */
static int wait_report(pid_t tid, uint64_t until_ns, int *ret_status)
{
	uint64_t spin_until = monotonic_ns() + SPIN_NS;

	for (;;) {
		pid_t got = waitpid(tid, ret_status, __WALL | WNOHANG);
		uint64_t now;

		if (got == tid)
			return WIFSTOPPED(*ret_status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		now = monotonic_ns();
		if (now > until_ns)
			return -ETIMEDOUT;
		if (now > spin_until)
			nap();
	}
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static bool is_syscall_stop(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/*
 * Waits for the thread to stop. Signals that arrive before are the thread's own and are delivered.
 */
static int wait_first_stop(struct inject_thread *t, pid_t tid, unsigned int limit_ms)
{
	uint64_t until = monotonic_ns() + limit_ms * NS_PER_MS;
	int status, err;

	for (;;) {
		err = wait_report(tid, until, &status);
		if (err == -ETIMEDOUT)
			t->hung[t->nr_hung++] = tid;
		if (err || is_event_stop(status))
			return err;
		ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
}

static int read_state(struct inject_thread *t, pid_t tid)
{
	struct iovec area = { t->state.xstate, sizeof(t->state.xstate) };
	struct iovec regs = { &t->state.regs, sizeof(t->state.regs) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &regs) ||
	    ptrace(PTRACE_GETREGSET, tid, (void *)INJECT_VECTOR_STATE, &area) ||
	    ptrace(PTRACE_GETSIGMASK, tid, (void *)8, &t->state.signal_mask))
		return -errno;
	t->state.xstate_size = area.iov_len;
	return regs.iov_len == sizeof(t->state.regs) ? 0 : -ENOTSUP;
}

/* Is there a signal that the thread is about to handle? */
static bool has_signal(pid_t tid, uint64_t mask)
{
	static const char *const names[] = { "SigPnd", "ShdPnd" };
	unsigned long long pending = 0, set;
	char text[8192];

	if (proc_status_text(tid, text, sizeof(text)))
		return true;
	for (int i = 0; i < 2; i++) {
		const char *value = proc_status_value(text, names[i]);

		if (value && sscanf(value, "%llx", &set) == 1)
			pending |= set;
	}
	return pending & ~mask;
}

/*
 * Restartable sequences: the kernel makes a thread that was off its CPU inside one go on at the
 * abort address of the sequence, but only if it goes on where it was stopped. We run it elsewhere,
 * so we do that ourselves.
 */
static void abort_rseq(struct inject_thread *t, const struct inject_process *p, pid_t tid)
{
	struct rseq_configuration rseq = { 0 };
	struct rseq_critical_section section;
	uint64_t address, none = 0;

	t->rseq = 0;
	if (ptrace((enum __ptrace_request)PTRACE_GET_RSEQ, tid, (void *)sizeof(rseq), &rseq) <= 0 ||
	    !rseq.address)
		return;
	t->rseq = rseq.address;
	if (inject_process_read(p, rseq.address + RSEQ_CS_OFFSET, &address, sizeof(address)) ||
	    !address || inject_process_read(p, address, &section, sizeof(section)))
		return;
	if (inject_regs_pc(&t->state.regs) - section.start < section.size) {
		inject_regs_set_pc(&t->state.regs, section.abort);
		inject_process_write(p, rseq.address + RSEQ_CS_OFFSET, &none, sizeof(none));
	}
}

/* Reads the state of the stopped thread. 0, or -errno: it cannot be restored. */
static int take_state(struct inject_thread *t, const struct inject_process *p, pid_t tid)
{
	struct user_regs_struct *r = &t->state.regs;
	int err = read_state(t, tid);

	if (err)
		return err;
	if (!inject_regs_are_64_bit(r))
		return -ENOTSUP;
	if (!inject_process_is_unchanged(p))
		return -ENOEXEC;
	if (inject_regs_syscall(r) >= 0 && inject_regs_result(r) == -EINTR &&
	    !has_signal(tid, t->state.signal_mask))
		inject_restart_undo_eintr(r);
	if (inject_regs_syscall(r) < 0)
		abort_rseq(t, p, tid);
	return 0;
}

/* Releases a stopped thread that is not used, as it was, with EINTR undone. */
static void let_go_on(struct inject_thread *t, pid_t tid)
{
	if (!take_state(t, t->process, tid))
		ptrace(PTRACE_SETREGS, tid, NULL, &t->state.regs);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* Releases a thread that had not stopped in time, if it has stopped by now. */
static void let_hung_go(struct inject_thread *t, unsigned int i)
{
	int status;
	pid_t got = waitpid(t->hung[i], &status, __WALL | WNOHANG);

	if (!got)
		return;
	if (got > 0 && WIFSTOPPED(status)) {
		if (is_event_stop(status))
			let_go_on(t, t->hung[i]);
		else
			ptrace(PTRACE_DETACH, t->hung[i], NULL,
			       (void *)(uintptr_t)WSTOPSIG(status));
	}
	t->hung[i] = t->hung[--t->nr_hung];
}

void inject_thread_release_hung(struct inject_thread *t)
{
	for (unsigned int i = t->nr_hung; i-- > 0;)
		let_hung_go(t, i);
}

/* The child makes system calls only, because this process may have threads. */
bool inject_thread_can_seize(pid_t tid)
{
	uint64_t until = monotonic_ns() + SEIZE_LIMIT_MS * NS_PER_MS;
	pid_t recorder = getpid(), child = fork(), ended;
	bool in_time;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == recorder)
			ptrace(PTRACE_SEIZE, tid, NULL, NULL); /* its end lets go of the thread */
		_exit(0);
	}
	if (child < 0)
		return true;
	while (!(ended = waitpid(child, NULL, WNOHANG)) && monotonic_ns() < until)
		nap();
	in_time = ended;
	if (!in_time) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return in_time;
}

int inject_thread_ask_stop(struct inject_thread *t, const struct inject_process *p, pid_t tid)
{
	int err;

	t->process = p;
	t->tid = 0;
	err = (int)request(PTRACE_SEIZE, tid, PTRACE_O_TRACESYSGOOD);
	if (err)
		return err;
	t->stopped_ns = monotonic_ns();
	return (int)request(PTRACE_INTERRUPT, tid, 0);
}

int inject_thread_await_stop(struct inject_thread *t, pid_t tid, unsigned int limit_ms)
{
	int err = t->nr_hung < INJECT_MAX_HUNG ? wait_first_stop(t, tid, limit_ms) : -EBUSY;

	if (err)
		return err;
	err = take_state(t, t->process, tid);
	t->tid = tid;
	t->gone = t->stop_signal_kept = t->is_masked = false;
	if (err) {
		let_go_on(t, tid);
		t->tid = 0;
	}
	return err;
}

static int try_thread(struct inject_thread *t, const struct inject_process *p, pid_t tid,
		      unsigned int limit_ms, inject_accept accept, void *context)
{
	int err = inject_thread_ask_stop(t, p, tid);

	if (!err)
		err = inject_thread_await_stop(t, tid, limit_ms);
	if (err || !accept || accept(context, t))
		return err;
	let_go_on(t, tid);
	t->tid = 0;
	return -EAGAIN;
}

static int no_thread(const struct inject_process *p, int err, struct inject_reason *reason)
{
	struct inject_reason now;

	if (inject_check_status(p->pid, &now) == -ESRCH)
		return inject_refuse(reason, -ESRCH, "pgrep -l NAME lists what runs",
				     "it has ended");
	if (err == -ENOEXEC)
		return inject_refuse(reason, -ENOEXEC, "try again",
				     "it has started another program meanwhile");
	if (err == -EPERM || err == -EACCES)
		return inject_check_rights(p->pid, reason);
	if (err == -ENOTSUP)
		return inject_refuse_entry(reason, err, "", "it runs 32-bit code");
	return inject_refuse_entry(reason, -EBUSY, "try again",
				   "none of its threads could be stopped where that is safe");
}

/* Stops the least disturbed of the threads that there are now. */
static int stop_any(struct inject_thread *t, const struct inject_process *p, unsigned int limit_ms,
		    inject_accept accept, void *context)
{
	struct picked_thread picked[PICK_MAX_THREADS];
	uint64_t until = monotonic_ns() + limit_ms * NS_PER_MS;
	size_t nr = pick_threads(p->pid, picked);
	int err = nr ? -EBUSY : -ESRCH;

	for (size_t i = 0; i < nr && t->nr_hung < INJECT_MAX_HUNG; i++) {
		unsigned int wait_ms = FIRST_LIMIT_MS;

		if (picked[i].rank == INJECT_RANK_NEVER)
			break;
		if (i + 1 == nr && limit_ms > wait_ms)
			wait_ms = limit_ms;
		err = try_thread(t, p, picked[i].tid, wait_ms, accept, context);
		if (!err)
			return 0;
		inject_thread_release_hung(t);
		if (err == -ENOEXEC || err == -ENOTSUP || monotonic_ns() > until)
			break;
	}
	return err;
}

int inject_thread_stop(struct inject_thread *t, const struct inject_process *p,
		       unsigned int limit_ms, inject_accept accept, void *context,
		       struct inject_reason *reason)
{
	uint64_t until = monotonic_ns() + limit_ms * NS_PER_MS;
	int err;

	/*
	 * ptrace(2) of a thread that is ending fails with EPERM, as of one that we have no right
	 * to; but the process's memory was open to us, so this is no lack of rights. And where no
	 * thread can be stopped because one is in vfork(2), that one will soon be back.
	 */
	do {
		t->tid = 0;
		err = stop_any(t, p, limit_ms, accept, context);
		if (!err)
			return 0;
		nap();
	} while ((err == -EPERM || err == -ESRCH || (err == -EBUSY && !accept)) &&
		 monotonic_ns() < until && !kill(p->pid, 0));
	return no_thread(p, err, reason);
}

int inject_thread_stop_one(struct inject_thread *t, const struct inject_process *p, pid_t tid,
			   unsigned int limit_ms)
{
	t->tid = 0;
	return t->nr_hung < INJECT_MAX_HUNG ? try_thread(t, p, tid, limit_ms, NULL, NULL) : -EBUSY;
}

int inject_thread_set(struct inject_thread *t, const struct user_regs_struct *regs)
{
	uint64_t all = ~0ull;

	/* In this order: if the recorder dies in between, not all signals may stay blocked. */
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, regs) ||
	    (!t->is_masked && ptrace(PTRACE_SETSIGMASK, t->tid, (void *)8, &all)))
		return -errno;
	t->is_masked = true;
	return 0;
}

/*
 * Handles a report of a held thread. 1: the one that was waited for (PTRACE_SYSCALL: a system call,
 * PTRACE_CONT: a stop); 0: go on waiting; or -errno.
 */
static int handle_report(struct inject_thread *t, int status, enum __ptrace_request resume)
{
	int signal = WSTOPSIG(status);

	if (is_syscall_stop(status))
		return 1;
	if (is_event_stop(status)) /* SIGSTOP stops the whole process */
		return resume == PTRACE_CONT ? 1 : (int)request(resume, t->tid, 0);
	if (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	    signal == SIGTRAP || signal == SIGSYS)
		return -EFAULT;
	/* All other signals are blocked. SIGSTOP is sent again when the thread is released. */
	if (signal == SIGSTOP)
		t->stop_signal_kept = true;
	return (int)request(resume, t->tid, 0);
}

static int wait_held(struct inject_thread *t, enum __ptrace_request resume)
{
	uint64_t until = monotonic_ns() + HELD_LIMIT_MS * NS_PER_MS;
	int status, err;

	do {
		err = wait_report(t->tid, until, &status);
		if (!err)
			err = handle_report(t, status, resume);
	} while (!err);
	t->gone = err == -ESRCH;
	return err > 0 ? 0 : err;
}

int inject_thread_to_syscall(struct inject_thread *t)
{
	int err = (int)request(PTRACE_SYSCALL, t->tid, 0);

	return err ? err : wait_held(t, PTRACE_SYSCALL);
}

int inject_thread_continue(struct inject_thread *t)
{
	return (int)request(PTRACE_CONT, t->tid, 0);
}

int inject_thread_check(struct inject_thread *t)
{
	int status, err;
	pid_t got = waitpid(t->tid, &status, __WALL | WNOHANG);

	if (!got)
		return 0;
	if (got < 0 || !WIFSTOPPED(status)) {
		t->gone = true;
		return -ESRCH;
	}
	err = handle_report(t, status, PTRACE_CONT);
	return err > 0 ? inject_thread_continue(t) : err;
}

int inject_thread_interrupt(struct inject_thread *t)
{
	int err = (int)request(PTRACE_INTERRUPT, t->tid, 0);

	return err ? err : wait_held(t, PTRACE_CONT);
}

int inject_thread_regs(const struct inject_thread *t, struct user_regs_struct *ret)
{
	return ptrace(PTRACE_GETREGS, t->tid, NULL, ret) ? -errno : 0;
}

uint64_t inject_thread_release(struct inject_thread *t, bool restore)
{
	struct iovec area = { t->state.xstate, t->state.xstate_size };
	uint64_t now;

	if (restore && !t->gone) {
		/*
		 * The mask first: if the recorder dies here, the thread still runs our code, which
		 * finds its way back.
		 */
		ptrace(PTRACE_SETSIGMASK, t->tid, (void *)8, &t->state.signal_mask);
		ptrace(PTRACE_SETREGSET, t->tid, (void *)INJECT_VECTOR_STATE, &area);
		ptrace(PTRACE_SETREGS, t->tid, NULL, &t->state.regs);
	}
	if (!t->gone) {
		ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
		if (t->stop_signal_kept)
			syscall(SYS_tkill, t->tid, SIGSTOP);
	}
	now = monotonic_ns();
	t->tid = 0;
	return now;
}
