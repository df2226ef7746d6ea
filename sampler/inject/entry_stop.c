/*
 * A breakpoint at the entry point is reached under ptrace(2); then the program is let go, but into
 * a loop of one instruction, because what attaches to it traces it itself. While it goes round,
 * nothing but us can end that, so it asks the kernel to be killed with us (PR_SET_PDEATHSIG).
 */
#include "sampler/inject/entry_stop.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "sampler/inject/x86_64/entry_code.h"
#include "sampler/inject/x86_64/registers.h"

#define LIMIT_NS (30ull * 1000 * 1000 * 1000) /* for the dynamic linker */
#define NAP_NS 50000

int entry_stop_follow(struct entry_stop *s, pid_t pid)
{
	*s = (struct entry_stop){ .pid = pid, .serve = s->serve, .context = s->context };
	return ptrace(PTRACE_SEIZE, pid, NULL,
		      (void *)(uintptr_t)(PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
		       ? -errno
		       : 0;
}

static int poke(const struct entry_stop *s, const uint8_t *bytes)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, bytes, ENTRY_STOP_BYTES, (off_t)s->entry);
	close(fd);
	return n == (ssize_t)ENTRY_STOP_BYTES ? 0 : -EFAULT;
}

static int peek(struct entry_stop *s)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, s->pid, (void *)(uintptr_t)s->entry, NULL);
	if (errno)
		return -errno;
	memcpy(s->was, &word, sizeof(s->was));
	return 0;
}

/* Waits for its next report. 0 and *ret_status; -ESRCH: it has ended; -ETIMEDOUT. */
static int await(struct entry_stop *s, uint64_t until_ns, int *ret_status)
{
	for (;;) {
		pid_t got = waitpid(s->pid, ret_status, WNOHANG | __WALL);

		if (got == s->pid && WIFSTOPPED(*ret_status))
			return 0;
		if (got == s->pid) {
			s->has_ended = true;
			s->status = *ret_status;
		}
		if (got)
			return -ESRCH;
		if (monotonic_ns() > until_ns)
			return -ETIMEDOUT;
		if (s->serve)
			s->serve(s->context);
		nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
	}
}

/* Lets it run on after a report of something else; its signals are delivered. */
static void run_on(const struct entry_stop *s, int status, enum __ptrace_request how)
{
	int signal = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_STOP && signal != SIGTRAP)
		ptrace(PTRACE_LISTEN, s->pid, NULL, NULL); /* SIGSTOP and the like */
	else
		ptrace(how, s->pid, NULL, (void *)(uintptr_t)(status >> 16 ? 0 : signal));
}

/*
 * Makes the stopped program call prctl(PR_SET_PDEATHSIG, signal) at its entry point. Its signals
 * are blocked meanwhile, or the step would end in a handler and leave the handler's mask behind.
 */
static int set_death_signal(struct entry_stop *s, int signal)
{
	const uint64_t arguments[6] = { PR_SET_PDEATHSIG, (uint64_t)signal };
	uint64_t until = monotonic_ns() + LIMIT_NS, all = ~0ull, mask;
	struct user_regs_struct was, regs;
	int err, status;

	if (ptrace(PTRACE_GETREGS, s->pid, NULL, &was) ||
	    ptrace(PTRACE_GETSIGMASK, s->pid, (void *)sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, s->pid, (void *)sizeof(all), &all))
		return -errno;
	regs = was;
	inject_regs_jump(&regs, s->entry, inject_regs_sp(&was));
	inject_regs_set_call(&regs, SYS_prctl, arguments);
	err = poke(s, entry_system_call);
	if (!err && (ptrace(PTRACE_SETREGS, s->pid, NULL, &regs) ||
		     ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL)))
		err = -errno;
	while (!err && !(err = await(s, until, &status)) && WSTOPSIG(status) != SIGTRAP)
		run_on(s, status, PTRACE_SINGLESTEP);
	if (!err && ptrace(PTRACE_SETREGS, s->pid, NULL, &was))
		err = -errno;
	if (ptrace(PTRACE_SETSIGMASK, s->pid, (void *)sizeof(mask), &mask) && !err)
		err = -errno;
	return err;
}

static int read_entry(struct entry_stop *s)
{
	Elf64_auxv_t vector[64];
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, vector, sizeof(vector));
	close(fd);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*vector); i++)
		if (vector[i].a_type == AT_ENTRY)
			s->entry = vector[i].a_un.a_val;
	return s->entry ? 0 : -ENOENT;
}

/* The program is new: nothing of it has run. */
static int set_breakpoint(struct entry_stop *s)
{
	struct user_regs_struct regs;
	int err;

	if (ptrace(PTRACE_GETREGS, s->pid, NULL, &regs))
		return -errno;
	if (!inject_regs_are_64_bit(&regs))
		return -ENOTSUP;
	err = read_entry(s);
	err = err ? err : peek(s);
	return err ? err : poke(s, entry_breakpoint);
}

/* Has it run the breakpoint? Then it stands before it again. */
static bool is_there(const struct entry_stop *s, int status)
{
	struct user_regs_struct regs;

	if (!s->entry || status >> 16 || WSTOPSIG(status) != SIGTRAP ||
	    ptrace(PTRACE_GETREGS, s->pid, NULL, &regs) ||
	    inject_regs_pc(&regs) != entry_behind_breakpoint(s->entry))
		return false;
	inject_regs_set_pc(&regs, s->entry);
	return !ptrace(PTRACE_SETREGS, s->pid, NULL, &regs);
}

int entry_stop_arrive(struct entry_stop *s)
{
	uint64_t until = monotonic_ns() + LIMIT_NS;
	int err, status;

	while (!(err = await(s, until, &status))) {
		if (is_there(s, status))
			break;
		if (status >> 16 == PTRACE_EVENT_EXEC)
			err = set_breakpoint(s);
		if (err)
			break;
		run_on(s, status, PTRACE_CONT);
	}
	err = err ? err : set_death_signal(s, SIGKILL);
	err = err ? err : poke(s, entry_loop);
	if (err && s->entry && !s->has_ended)
		poke(s, s->was);
	if (!s->has_ended)
		ptrace(PTRACE_DETACH, s->pid, NULL, NULL);
	return err;
}

int entry_stop_release(struct entry_stop *s)
{
	uint64_t until = monotonic_ns() + LIMIT_NS;
	int err, status;

	if (ptrace(PTRACE_SEIZE, s->pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL) ||
	    ptrace(PTRACE_INTERRUPT, s->pid, NULL, NULL))
		return -errno;
	while (!(err = await(s, until, &status)) && status >> 16 != PTRACE_EVENT_STOP)
		run_on(s, status, PTRACE_CONT);
	err = err ? err : set_death_signal(s, 0);
	if (!s->has_ended && poke(s, s->was) && !err)
		err = -EFAULT;
	if (!s->has_ended)
		ptrace(PTRACE_DETACH, s->pid, NULL, NULL);
	return err;
}
