/* The threads of the processes that are sampled: each is to have a timer, and a name. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/timer/timer.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/timer/follow.h"

#define POLL_NS (50ull * 1000 * 1000)
#define POLL_SHARE 100 /* looking for threads takes at most this part of our time */
#define BLOCKED_NS (500ull * 1000 * 1000)
#define YOUNG_NS (100ull * 1000 * 1000)
#define MIN_COMM_NS (4000ull * 1000)
#define MAX_COMM_NS (500ull * 1000 * 1000)

/*
 * A new thread may take a name of its own yet: it is read again as soon as the thread is known for twice as
 * long. After an exec the name is none for what the process did before.
 */
static void read_comm(const struct timer_process *p, struct timer_thread *t, uint64_t now)
{
	uint64_t known = now - t->known_ns, program;
	char path[64], line[COMM_SIZE + 1] = "";
	FILE *f;

	t->comm_due_ns = now + (known < MIN_COMM_NS   ? MIN_COMM_NS
				: known > MAX_COMM_NS ? MAX_COMM_NS
						      : known);
	if (known && t->outer == p->maps.pid) {
		program = timer_follow_program(p->maps.pid);
		if (program && program != p->program)
			return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)p->maps.pid, (int)t->outer);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(line, sizeof(line), f)) {
		memset(t->comm, 0, COMM_SIZE);
		memcpy(t->comm, line, strcspn(line, "\n"));
	}
	fclose(f);
}

struct timer_thread *timer_thread(struct timer_process *p, pid_t tid)
{
	pid_t first = p->maps.pid;
	struct timer_thread *t, *leader;
	uint64_t now = monotonic_ns();

	HASH_FIND_INT(p->threads, &tid, t);
	if (t && p->renumbers && t->outer == tid)
		t->outer = timer_outer(p, tid); /* it may have been too new */
	if (!t) {
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		t->known_ns = t->comm_due_ns = now;
		t->outer = timer_outer(p, tid);
		t->last_stack = PROFILE_NONE;
		/* What has ended before we could ask has the name of its process. */
		HASH_FIND_INT(p->threads, &first, leader);
		if (leader)
			memcpy(t->comm, leader->comm, COMM_SIZE);
		HASH_ADD_INT(p->threads, tid, t);
	}
	if (!p->ended_ns && now >= t->comm_due_ns)
		read_comm(p, t, now);
	return t;
}

uint64_t timer_tend_name(struct timer_process *p, uint64_t now)
{
	if (now - p->maps.known_ns >= YOUNG_NS)
		return UINT64_MAX;
	return timer_thread(p, p->maps.pid)->comm_due_ns;
}

void timer_forget_threads(struct timer_process *p)
{
	struct timer_thread *t, *next;

	HASH_ITER (hh, p->threads, t, next) {
		HASH_DEL(p->threads, t);
		free(t);
	}
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static bool lives(void *context, pid_t tid)
{
	const struct timer_process *p = context;

	return bsearch(&tid, p->tids, p->nr_tids, sizeof(*p->tids), by_number) != NULL;
}

/* The threads there are; 0 or -errno. */
static int list_threads(struct timer_process *p)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->maps.pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	p->nr_tids = 0;
	while ((entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		p->tids = xgrow(p->tids, &p->tids_capacity, p->nr_tids + 1, sizeof(*p->tids));
		p->tids[p->nr_tids++] = tid;
	}
	closedir(dir);
	if (p->renumbers)
		timer_renumber(p);
	if (p->nr_tids)
		qsort(p->tids, p->nr_tids, sizeof(*p->tids), by_number);
	return p->nr_tids ? 0 : -ESRCH;
}

bool timer_is_running(pid_t pid, pid_t tid)
{
	char path[64], line[512], *end;
	bool running = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* the name, in parentheses, may hold anything */
	if (fgets(line, sizeof(line), f) && (end = strrchr(line, ')')))
		running = !strncmp(end, ") R", 3);
	fclose(f);
	return running;
}

/*
 * Threads wait for timers and no handler comes by, because those that have timers sleep: has one that
 * runs look into the mailbox.
 */
static void kick(struct timer_process *p)
{
	const struct agent_region *shared = p->region.shared;
	int signal = __atomic_load_n(&shared->signal, __ATOMIC_RELAXED);
	siginfo_t info = { .si_signo = signal, .si_code = SI_QUEUE };

	if (!__atomic_load_n(&shared->installed, __ATOMIC_ACQUIRE) ||
	    !__atomic_load_n(&shared->mailbox, __ATOMIC_ACQUIRE) || signal <= SIGRTMIN ||
	    signal > SIGRTMAX)
		return;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_ptr = (void *)(uintptr_t)agent_signal_value(p->region.cookie, REGION_MAX_THREADS);
	for (size_t i = p->nr_tids; i-- > 0;) {
		pid_t tid = timer_outer(p, p->tids[i]);

		if (!timer_is_running(p->maps.pid, tid))
			continue;
		syscall(SYS_rt_tgsigqueueinfo, p->maps.pid, tid, signal, &info);
		return;
	}
}

/* Does the thread hold our signal back? */
static bool blocks_signal(const struct timer_process *p, pid_t tid, int signal)
{
	unsigned long long blocked = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)p->maps.pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f) && sscanf(line, "SigBlk: %llx", &blocked) != 1)
		;
	fclose(f);
	return blocked >> (signal - 1) & 1;
}

/*
 * Threads that run and cannot be sampled are said, once for each process: those that were seen twice. libc
 * holds every signal back for an instant when a thread begins and ends.
 */
static void look_for_blocked(struct timer_process *p, uint64_t now)
{
	int signal = __atomic_load_n(&p->region.shared->signal, __ATOMIC_RELAXED);
	pid_t before = p->blocked;

	if (p->blocked_said || now - p->blocked_ns < BLOCKED_NS || signal < 1 || signal > SIGRTMAX)
		return;
	p->blocked_ns = now;
	p->blocked = 0;
	for (size_t i = 0; i < p->nr_tids && !p->blocked_said; i++) {
		pid_t tid = timer_outer(p, p->tids[i]);

		if (!timer_is_running(p->maps.pid, tid) || !blocks_signal(p, tid, signal))
			continue;
		if (!p->blocked)
			p->blocked = tid;
		if (tid != before)
			continue;
		p->blocked_said = true;
		log_warning("thread %d of process %d ('%.*s') blocks signal %d: it is not sampled",
			    (int)tid, (int)p->maps.pid, COMM_SIZE,
			    timer_thread(p, p->tids[i])->comm, signal);
	}
}

static void want_listed(struct source *s, struct timer_process *p)
{
	for (size_t i = 0; i < p->nr_tids; i++)
		if (!timer_region_want(&p->region, p->tids[i]))
			s->stats.nr_limits++;
}

void timer_want_threads(struct source *s, struct timer_process *p)
{
	if (!list_threads(p))
		want_listed(s, p);
}

void timer_poll_threads(struct source *s, struct timer_process *p, uint64_t now)
{
	uint64_t took;

	if (timer_has_ended(p) || list_threads(p)) {
		p->ended_ns = now;
		return;
	}
	timer_region_sweep(&p->region, lives, p);
	if (!s->stopping) {
		want_listed(s, p);
		kick(p);
		look_for_blocked(p, now);
	}
	took = monotonic_ns() - now;
	p->next_poll_ns = now + (took * POLL_SHARE > POLL_NS ? took * POLL_SHARE : POLL_NS);
}
