/*
 * The best thread to get the signal is one that runs; a process of which none does needs no samples
 * either, and is looked at again. After a while a thread that waits in a call which the kernel
 * restarts will do, and at last one in poll(2), a futex or the like, whose callers are used to
 * EINTR.
 */
#include "sampler/timer/wake_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/inject/seccomp_status.h"
#include "sampler/timer/library.h"
#include "sampler/target/proc_life.h"
#include "sampler/timer/targets/timer_process.h"

#define LOOK_NS 1000000
#define AGAIN_NS 100000
#define RESTARTS_NS (500ull * 1000 * 1000) /* after that a thread in a restarted call will do, */
#define POLLS_NS (2000ull * 1000 * 1000)   /* and after that one in poll(2) */

static bool catches(const char *status, int signal)
{
	const char *value = proc_status_value(status, "SigCgt");

	return value && strtoull(value, NULL, 16) >> (signal - 1) & 1;
}

bool timer_wake_has_library(pid_t pid)
{
	FILE *f = remote_open(pid, "maps");
	char *line = NULL;
	bool found = false;
	size_t size = 0;

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0)
		found = strstr(line, "/" TIMER_LIBRARY "\n") ||
			strstr(line, "/" TIMER_LIBRARY " (deleted)\n");
	free(line);
	fclose(f);
	return found;
}

/*
 * A filter might end the process for what it does when it is woken, which is to open a socket and
 * make timers. If it has as many filters as we have, they are those of the container that both are
 * in. If it has more or fewer, they have to be read, which takes ptrace.
 */
static bool is_filtered(const char *status)
{
	long nr = inject_seccomp_nr_filters(status);
	char own[8192];

	return nr && (nr < 0 || proc_status_text(getpid(), own, sizeof(own)) ||
		      inject_seccomp_nr_filters(own) != nr);
}

bool timer_wake_is_possible(pid_t pid)
{
	char text[8192];

	return !proc_status_text(pid, text, sizeof(text)) &&
	       catches(text, RENDEZVOUS_WAKE_SIGNAL) && !is_filtered(text) &&
	       timer_wake_has_library(pid);
}

/*
 * Is the kernel function that the thread waits in one of these? The kernel may not say: "0". They
 * are compared by their beginnings: compilers append suffixes to the names of functions.
 */
static bool waits_in(pid_t pid, pid_t tid, const char *const *names)
{
	char name[128];

	proc_text(name, sizeof(name), "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
	for (; *names; names++)
		if (!strncmp(name, *names, strlen(*names)))
			return true;
	return false;
}

/*
 * A thread that runs only briefly between two waits would be in the second one when the signal
 * arrives.
 */
static bool keeps_running(pid_t pid, pid_t tid)
{
	if (!proc_life_is_running(pid, tid))
		return false;
	nanosleep(&(struct timespec){ 0, AGAIN_NS }, NULL);
	return proc_life_is_running(pid, tid);
}

/* May this thread get the signal? The longer it was waited for, the more threads may. */
static bool will_do(pid_t pid, pid_t tid, uint64_t waited_ns)
{
	static const char *const restarts[] = { "pipe_read", "anon_pipe_read", "pipe_wait",
						"do_wait",   "n_tty_read",     NULL };
	/* a futex may have a time limit, and is not restarted then */
	static const char *const polls[] = { "ep_poll",	    "do_epoll_wait", "poll_schedule",
					     "do_sys_poll", "do_select",     "futex_",
					     NULL };

	return waited_ns == UINT64_MAX || keeps_running(pid, tid) ||
	       (waited_ns > RESTARTS_NS && waits_in(pid, tid, restarts)) ||
	       (waited_ns > POLLS_NS && waits_in(pid, tid, polls));
}

/* A thread, or 0. */
static pid_t choose_thread(pid_t pid, uint64_t waited_ns)
{
	DIR *threads = proc_threads(pid);
	pid_t tid;

	while ((tid = proc_next(threads)) && !will_do(pid, tid, waited_ns))
		;
	proc_close(threads);
	return tid;
}

static int send_value(pid_t pid, pid_t tid, uint64_t value)
{
	siginfo_t info = { .si_signo = RENDEZVOUS_WAKE_SIGNAL, .si_code = SI_QUEUE };

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_ptr = (void *)(uintptr_t)value;
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, RENDEZVOUS_WAKE_SIGNAL, &info) ? -errno : 0;
}

int timer_wake_send(pid_t pid, uint64_t waited_ns, uint64_t value)
{
	pid_t tid = choose_thread(pid, waited_ns);
	int err = tid ? send_value(pid, tid, value) : 0;

	return err ? err : tid != 0;
}

void timer_sleep_again(const struct timer_process *p, uint64_t until_ns)
{
	pid_t tid = 0;

	if (p->ended_ns || p->attached.attach)
		return;
	while (!(tid = choose_thread(p->maps.pid, RESTARTS_NS + 1)) && monotonic_ns() < until_ns)
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
	if (tid)
		send_value(p->maps.pid, tid, RENDEZVOUS_SLEEP_AGAIN);
}
