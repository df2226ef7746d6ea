/*
 * Looks at each thread: one that sleeps shows its pc and stack pointer in
 * /proc/PID/task/TID/syscall, one that runs is stopped for a moment.
 */
#include "sampler/inject/quiesce.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/inject/inject_process.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/x86_64/registers.h"
#include "sampler/inject/x86_64/syscall_restart.h"

#define STOP_LIMIT_MS 50u
#define PAUSE_NS 500000

static bool is_in(const struct quiesce_range *ranges, size_t nr, uint64_t address)
{
	for (size_t i = 0; i < nr; i++) {
		if (address >= ranges[i].start && address < ranges[i].end)
			return true;
	}
	return false;
}

/*
 * Does the thread wait in a system call that signals can interrupt? A thread that sleeps otherwise,
 * as in a page fault, may be about to begin a handler: the kernel has taken the signal, and waits
 * for the page that the handler's frame is to stand on. Its registers are still those from before.
 */
static bool sleeps_lightly(pid_t pid, pid_t tid)
{
	char name[48], text[512], *name_end;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	if (remote_text(pid, name, text, sizeof(text)))
		return false;
	name_end = strrchr(text, ')');
	return name_end && !strncmp(name_end, ") S", 3);
}

/*
 * The file says "NR, six arguments, stack pointer, pc", NR being -1 outside of a system call, or
 * "running". false: the thread runs, or what the file says cannot be trusted. *ret_gone: it has
 * ended.
 */
static bool where_it_sleeps(pid_t pid, pid_t tid, uint64_t *sp, uint64_t *pc, bool *ret_gone)
{
	char name[48], text[256], *last, *before;

	snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
	*ret_gone = remote_text(pid, name, text, sizeof(text));
	if (*ret_gone || text[0] < '0' || text[0] > '9')
		return false;
	last = strrchr(text, ' ');
	if (!last)
		return false;
	*last = '\0';
	before = strrchr(text, ' ');
	if (!before)
		return false;
	*sp = strtoull(before + 1, NULL, 16);
	*pc = strtoull(last + 1, NULL, 16);
	/*
	 * Asked after the registers were read: a thread that is asleep now was in no page fault
	 * then, or has finished with it.
	 */
	return inject_restart_waits_for_child(strtol(text, NULL, 10)) || sleeps_lightly(pid, tid);
}

/* 1: outside, or gone; 0: inside, or not known. */
static int look(struct inject_thread *t, const struct inject_process *p, pid_t tid,
		const struct quiesce_range *ranges, size_t nr)
{
	uint64_t sp, pc;
	bool gone, outside;

	if (where_it_sleeps(p->pid, tid, &sp, &pc, &gone))
		return !is_in(ranges, nr, pc) && !is_in(ranges, nr, sp);
	if (gone)
		return 1;
	if (inject_thread_stop_one(t, p, tid, STOP_LIMIT_MS)) {
		inject_thread_release_hung(t);
		return 0;
	}
	outside = !is_in(ranges, nr, inject_regs_pc(&t->state.regs)) &&
		  !is_in(ranges, nr, inject_regs_sp(&t->state.regs));
	inject_thread_release(t, true);
	return outside;
}

static size_t list_threads(pid_t pid, pid_t **ret)
{
	DIR *threads = proc_threads(pid);
	size_t nr = 0, capacity = 0;
	pid_t tid;

	*ret = NULL;
	while ((tid = proc_next(threads))) {
		*ret = xgrow(*ret, &capacity, nr + 1, sizeof(**ret));
		(*ret)[nr++] = tid;
	}
	proc_close(threads);
	return nr;
}

int quiesce_wait(const struct inject_process *p, const struct quiesce_range *ranges, size_t nr,
		 unsigned int limit_ms)
{
	uint64_t until = monotonic_ns() + limit_ms * NS_PER_MS;
	struct inject_thread *t = xcalloc(1, sizeof(*t));
	size_t nr_threads, at = 0;
	pid_t *threads;
	int err = 0;

	nr_threads = list_threads(p->pid, &threads);
	while (at < nr_threads && !err) {
		if (look(t, p, threads[at], ranges, nr)) {
			at++;
			continue;
		}
		nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
		if (monotonic_ns() > until)
			err = -ETIMEDOUT;
	}
	free(threads);
	free(t);
	return nr_threads ? err : -ESRCH;
}
