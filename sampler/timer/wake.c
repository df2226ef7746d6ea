/*
 * Processes that have libsprof.so in them and no recorder: a signal tells them our name, and they come.
 *
 * A handler that runs ends some system calls with EINTR that would have gone on. So the signal goes to a
 * thread that runs; a process of which none does needs no samples either, and is looked at again. After a
 * while one that waits in a call that the kernel begins again will do, and at last one in poll(2), a futex
 * or the like, whose callers are used to it.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/timer/timer.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/agent/rendezvous.h"
#include "core/base/proc_status.h"
#include "sampler/timer/library.h"

#define AT_ONCE_NS (100ull * 1000 * 1000) /* how long the beginning of a recording waits for it */
#define LOOK_NS 1000000
#define AGAIN_NS 100000
#define RESTARTS_NS (500ull * 1000 * 1000) /* after that a thread that waits will do, */
#define POLLS_NS (2000ull * 1000 * 1000)   /* and after that one in poll(2) */
#define ANSWER_NS (1000ull * 1000 * 1000)  /* who does not come by then does not listen */

struct timer_sleeper {
	struct timer_sleeper *next;
	pid_t pid;
	uint64_t since_ns, sent_ns; /* 0: no signal yet */
	bool busy, given_up;
	bool quiet; /* somebody else says it if it does not come */
};

/* ---- does it listen? */

static bool catches(const char *status, int signal)
{
	const char *value = proc_status_value(status, "SigCgt");

	return value && strtoull(value, NULL, 16) >> (signal - 1) & 1;
}

bool timer_wake_has_library(pid_t pid)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0)
		found = strstr(line, "/" TIMER_LIBRARY "\n") ||
			strstr(line, "/" TIMER_LIBRARY " (deleted)\n");
	free(line);
	fclose(f);
	return found;
}

/* How many filters decide over its system calls; -1: the kernel does not say (before 5.9). */
static long nr_filters(const char *status)
{
	const char *mode = proc_status_value(status, "Seccomp"),
		   *nr = proc_status_value(status, "Seccomp_filters");

	if (mode && !strtol(mode, NULL, 10))
		return 0;
	return nr ? strtol(nr, NULL, 10) : -1;
}

/*
 * What it does when it is woken, a socket and timers, a filter might end it for. Those of a container we are
 * under, too; where there are more or others we had better look, which takes ptrace.
 */
static bool is_filtered(const char *status)
{
	long nr = nr_filters(status);
	char own[8192];

	return nr &&
	       (nr < 0 || proc_status_text(getpid(), own, sizeof(own)) || nr_filters(own) != nr);
}

bool timer_wake_is_possible(pid_t pid)
{
	char text[8192];

	return !proc_status_text(pid, text, sizeof(text)) && catches(text, MEETING_WAKE_SIGNAL) &&
	       !is_filtered(text) && timer_wake_has_library(pid);
}

/* ---- who is to get the signal? */

/* What a thread waits in, as the kernel calls it; "0" or "" where it does not say. */
static void read_wait(pid_t pid, pid_t tid, char *name, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (f) {
		n = fread(name, 1, size - 1, f);
		fclose(f);
	}
	name[n] = '\0';
}

/* The names may go on: compilers add to them. */
static bool waits_in(pid_t pid, pid_t tid, const char *const *names)
{
	char name[128];

	read_wait(pid, tid, name, sizeof(name));
	for (; *names; names++)
		if (!strncmp(name, *names, strlen(*names)))
			return true;
	return false;
}

/* One that only comes by between two waits is in the second one when the signal arrives. */
static bool keeps_running(pid_t pid, pid_t tid)
{
	if (!timer_is_running(pid, tid))
		return false;
	nanosleep(&(struct timespec){ 0, AGAIN_NS }, NULL);
	return timer_is_running(pid, tid);
}

/* How patient are we? Less and less. */
static bool will_do(pid_t pid, pid_t tid, uint64_t waited_ns)
{
	static const char *const restarts[] = { "pipe_read", "anon_pipe_read", "pipe_wait",
						"do_wait",   "n_tty_read",     NULL };
	/* a futex may be one with a time limit */
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
	struct dirent *entry;
	pid_t chosen = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !chosen && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && will_do(pid, tid, waited_ns))
			chosen = tid;
	}
	if (dir)
		closedir(dir);
	return chosen;
}

static int send_value(pid_t pid, pid_t tid, uint64_t value)
{
	siginfo_t info = { .si_signo = MEETING_WAKE_SIGNAL, .si_code = SI_QUEUE };

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_ptr = (void *)(uintptr_t)value;
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, MEETING_WAKE_SIGNAL, &info) ? -errno : 0;
}

/* ---- those that are asleep */

static struct timer_sleeper *find(const struct source *s, pid_t pid)
{
	struct timer_sleeper *w = s->sleepers;

	while (w && w->pid != pid)
		w = w->next;
	return w;
}

bool timer_wake_expects(const struct source *s, pid_t pid)
{
	return find(s, pid) != NULL;
}

void timer_wake_done(struct source *s, pid_t pid)
{
	struct timer_sleeper **at = &s->sleepers, *w;

	while ((w = *at) && w->pid != pid)
		at = &w->next;
	if (!w)
		return;
	*at = w->next;
	free(w);
}

void timer_wake_is_busy(struct source *s, pid_t pid)
{
	struct timer_sleeper *w = find(s, pid);

	if (w)
		w->busy = true;
}

/* Sends it the signal if it is time. -errno: it cannot be woken, or does not answer. */
static int try(struct source *s, struct timer_sleeper *w)
{
	/* Where waiting is sampled, too, breaking into it is in the bargain. */
	uint64_t now = monotonic_ns(),
		 waited = s->config.clock == AGENT_CLOCK_WALL ? UINT64_MAX : now - w->since_ns;
	pid_t tid;
	int err;

	if (w->busy)
		return -EBUSY;
	if (w->sent_ns)
		return now - w->sent_ns > ANSWER_NS ? -ETIMEDOUT : 0;
	tid = choose_thread(w->pid, waited);
	err = tid ? send_value(w->pid, tid, timer_meeting_name(s->meeting)) : 0;
	if (tid && !err)
		w->sent_ns = now;
	return err == -EAGAIN || err == -ESRCH ? 0 : err;
}

static struct timer_sleeper *add(struct source *s, pid_t pid)
{
	struct timer_sleeper *w = xcalloc(1, sizeof(*w));

	w->pid = pid;
	w->since_ns = monotonic_ns();
	w->next = s->sleepers;
	s->sleepers = w;
	return w;
}

void timer_wake_begin(struct source *s, pid_t pid)
{
	if (!find(s, pid))
		add(s, pid)->quiet = true;
}

int timer_wake(struct source *s, pid_t pid)
{
	struct timer_sleeper *w = add(s, pid);
	int err = 0;

	while (!err && find(s, pid)) {
		if (!w->sent_ns && monotonic_ns() - w->since_ns > AT_ONCE_NS)
			return 0;
		err = try(s, w);
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
		timer_meeting_serve(s->meeting, s);
	}
	if (err)
		timer_wake_done(s, pid);
	return err ? err : 1;
}

static void give_up(struct timer_sleeper *w, int err)
{
	w->given_up = true;
	if (!w->quiet)
		log_warning("process %d is not sampled: %s", (int)w->pid,
			    err == -EBUSY	? "another sprof samples it"
			    : err == -ETIMEDOUT ? "its " TIMER_LIBRARY " does not answer"
						: strerror(-err));
}

static bool has_gone(const struct timer_sleeper *w)
{
	return kill(w->pid, 0) && errno == ESRCH;
}

void timer_wake_tend(struct source *s)
{
	struct timer_sleeper *w, *next;

	for (w = s->sleepers; w; w = next) {
		int err = w->given_up ? 0 : try(s, w);

		next = w->next;
		if (err == -ESRCH || has_gone(w))
			timer_wake_done(s, w->pid);
		else if (err)
			give_up(w, err);
	}
}

void timer_wake_visit(const struct source *s, void (*visit)(const struct source *s, pid_t pid))
{
	for (const struct timer_sleeper *w = s->sleepers; w; w = w->next)
		if (!w->quiet)
			visit(s, w->pid);
}

void timer_wake_free(struct source *s)
{
	while (s->sleepers)
		timer_wake_done(s, s->sleepers->pid);
}

void timer_wake_end(struct source *s)
{
	for (const struct timer_sleeper *w = s->sleepers; w; w = w->next)
		if (!w->given_up && !w->quiet && !has_gone(w))
			log_warning("process %d was not sampled: none of its threads was seen to "
				    "run",
				    (int)w->pid);
	timer_wake_free(s);
}

void timer_wake_hush(const struct timer_process *p, uint64_t until_ns)
{
	pid_t tid = 0;

	if (p->ended_ns || p->attach)
		return;
	while (!(tid = choose_thread(p->maps.pid, RESTARTS_NS + 1)) && monotonic_ns() < until_ns)
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
	if (tid)
		send_value(p->maps.pid, tid, MEETING_HUSH);
}
