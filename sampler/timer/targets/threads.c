/*
 * Lists /proc/PID/task now and then, and compares it with the slots of the region: a thread without
 * a slot gets one, and the slot of a thread that has ended is freed. Whoever runs in the target
 * next makes and deletes the timers.
 */
#include "sampler/timer/targets/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/proc_status.h"
#include "core/profile/profile.h"
#include "sampler/target/proc_life.h"
#include "sampler/timer/targets/timer_process.h"

#define POLL_NS (50ull * 1000 * 1000)
#define POLL_SHARE 100 /* looking for threads takes at most a hundredth of a CPU */
#define BLOCKED_NS (500ull * 1000 * 1000)
#define YOUNG_NS (100ull * 1000 * 1000)
#define MIN_COMM_NS (4000ull * 1000)
#define MAX_COMM_NS (500ull * 1000 * 1000)

/*
 * A new thread may still take a name of its own, so the name is read again whenever the thread has
 * been known for twice as long. After an exec the name belongs to the new program, not to the
 * samples of the old one.
 */
static void read_comm(const struct timer_process *p, struct timer_thread *t, uint64_t now)
{
	uint64_t known = now - t->known_ns, program;
	char name[COMM_SIZE + 1];

	t->comm_due_ns = now + (known < MIN_COMM_NS   ? MIN_COMM_NS
				: known > MAX_COMM_NS ? MAX_COMM_NS
						      : known);
	if (known && t->outer == p->maps.pid) {
		program = proc_life_program(p->maps.pid);
		if (program && program != p->program)
			return;
	}
	if (proc_name(p->maps.pid, t->outer, name, sizeof(name))) {
		memset(t->comm, 0, COMM_SIZE);
		memcpy(t->comm, name, strlen(name));
	}
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return ORDER(x, y);
}

static bool lives(void *context, pid_t tid)
{
	const struct timer_threads *t = context;

	return t->nr_tids &&
	       bsearch(&tid, t->tids, t->nr_tids, sizeof(*t->tids), by_number) != NULL;
}

/*
 * Makes room for an entry where the table is full. The entries that were added first go first,
 * because records of a thread that has just ended may still come. The first thread's stays: others
 * take their name from it.
 */
static void make_room(struct timer_process *p)
{
	size_t most = p->threads.most_threads + TIMER_MAX_ENDED;
	struct timer_thread *t, *next;

	if (HASH_COUNT(p->threads.table) < most)
		return;
	HASH_ITER (hh, p->threads.table, t, next) {
		if (HASH_COUNT(p->threads.table) <= most - TIMER_MAX_ENDED / 2)
			break; /* so that not every new thread comes here */
		if (t->tid == p->maps.pid || lives(&p->threads, t->tid))
			continue;
		HASH_DEL(p->threads.table, t);
		free(t);
	}
}

struct timer_thread *timer_thread(struct timer_process *p, pid_t tid)
{
	pid_t first = p->maps.pid;
	struct timer_thread *t, *leader;
	uint64_t now = monotonic_ns();

	HASH_FIND_INT(p->threads.table, &tid, t);
	if (t && p->threads.renumbers && t->outer == tid)
		t->outer = timer_outer(&p->threads, tid); /* not known when it was new */
	if (!t) {
		make_room(p);
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		t->known_ns = t->comm_due_ns = now;
		t->outer = timer_outer(&p->threads, tid);
		t->last_stack = PROFILE_NONE;
		/* A thread that ended before we could ask has the name of its process. */
		HASH_FIND_INT(p->threads.table, &first, leader);
		if (leader)
			memcpy(t->comm, leader->comm, COMM_SIZE);
		HASH_ADD_INT(p->threads.table, tid, t);
	}
	if (!p->ended_ns && now >= t->comm_due_ns)
		read_comm(p, t, now);
	return t;
}

uint64_t timer_threads_poll_name(struct timer_process *p, uint64_t now)
{
	if (now - p->maps.known_ns >= YOUNG_NS)
		return UINT64_MAX;
	return timer_thread(p, p->maps.pid)->comm_due_ns;
}

void timer_threads_init(struct timer_process *p, uint64_t first_poll_ns)
{
	p->threads.renumbers = timer_numbers_differ(p->maps.pid);
	p->threads.next_poll_ns = first_poll_ns;
	p->threads.most_threads = 1;
}

void timer_threads_fini(struct timer_process *p)
{
	struct timer_thread *t, *next;

	HASH_ITER (hh, p->threads.table, t, next) {
		HASH_DEL(p->threads.table, t);
		free(t);
	}
	free(p->threads.tids);
	free(p->threads.numbers);
}

/* The threads of the process into t->tids. 0 or -errno. */
static int list_threads(struct timer_threads *t, pid_t pid)
{
	DIR *threads = proc_threads(pid);
	pid_t tid;

	if (!threads)
		return -errno;
	t->nr_tids = 0;
	while ((tid = proc_next(threads))) {
		t->tids = xgrow(t->tids, &t->tids_capacity, t->nr_tids + 1, sizeof(*t->tids));
		t->tids[t->nr_tids++] = tid;
	}
	proc_close(threads);
	if (t->nr_tids > t->most_threads)
		t->most_threads = t->nr_tids;
	if (t->renumbers)
		timer_renumber(t);
	if (t->nr_tids)
		qsort(t->tids, t->nr_tids, sizeof(*t->tids), by_number);
	return t->nr_tids ? 0 : -ESRCH;
}

/*
 * Where new threads wait for their timers and no handler runs, because the threads that have timers
 * sleep: sends our signal to a thread that runs, whose handler then looks into the mailbox.
 */
static void send_to_runner(const struct timer_process *p)
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
	for (size_t i = p->threads.nr_tids; i-- > 0;) {
		pid_t tid = timer_outer(&p->threads, p->threads.tids[i]);

		if (!proc_life_is_running(p->maps.pid, tid))
			continue;
		syscall(SYS_rt_tgsigqueueinfo, p->maps.pid, tid, signal, &info);
		return;
	}
}

/* Does the thread block our signal? */
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
 * Warns, once for each process, of a thread that runs and blocks our signal, so that it is not
 * sampled. It must do so twice in a row: libc blocks every signal for an instant when a thread
 * begins and ends.
 */
static void look_for_blocked(struct timer_process *p, uint64_t now)
{
	int signal = __atomic_load_n(&p->region.shared->signal, __ATOMIC_RELAXED);
	struct timer_threads *t = &p->threads;
	pid_t before = t->blocked;

	if (t->blocked_said || now - t->blocked_ns < BLOCKED_NS || signal < 1 || signal > SIGRTMAX)
		return;
	t->blocked_ns = now;
	t->blocked = 0;
	for (size_t i = 0; i < t->nr_tids && !t->blocked_said; i++) {
		pid_t tid = timer_outer(t, t->tids[i]);

		if (!proc_life_is_running(p->maps.pid, tid) || !blocks_signal(p, tid, signal))
			continue;
		if (!t->blocked)
			t->blocked = tid;
		if (tid != before)
			continue;
		t->blocked_said = true;
		log_warning("thread %d of process %d ('%.*s') blocks signal %d: it is not sampled",
			    (int)tid, (int)p->maps.pid, COMM_SIZE,
			    timer_thread(p, t->tids[i])->comm, signal);
	}
}

static size_t want_listed(struct timer_process *p)
{
	size_t nr_limits = 0;

	for (size_t i = 0; i < p->threads.nr_tids; i++)
		nr_limits += !timer_region_want(&p->region, p->threads.tids[i]);
	return nr_limits;
}

size_t timer_threads_want(struct timer_process *p)
{
	return list_threads(&p->threads, p->maps.pid) ? 0 : want_listed(p);
}

bool timer_threads_poll(struct timer_process *p, uint64_t now, bool stopping, size_t *ret_nr_limits)
{
	uint64_t before = thread_cpu_ns(), took;

	*ret_nr_limits = 0;
	if (now < p->threads.next_poll_ns)
		return true;
	if (proc_life_has_ended(p->maps.pid) || list_threads(&p->threads, p->maps.pid))
		return false;
	timer_region_sweep(&p->region, lives, &p->threads);
	if (!stopping) {
		*ret_nr_limits = want_listed(p);
		send_to_runner(p);
		look_for_blocked(p, now);
	}
	took = thread_cpu_ns() - before;
	p->threads.next_poll_ns = now + (took * POLL_SHARE > POLL_NS ? took * POLL_SHARE : POLL_NS);
	return true;
}
