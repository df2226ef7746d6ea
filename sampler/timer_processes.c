/*
 * The processes that are sampled: their threads get timers, their mappings and rows are published for
 * the walks inside them.
 */
#include "sampler/timer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/log.h"
#include "sampler/proc_maps.h"
#include "sampler/proc_status.h"
#include "sampler/timer_vdso.h"
#include "sampler/unwind_table.h"

#define MAX_PROCESSES 4096
#define GRACE_NS (1000ull * 1000 * 1000)
#define REREAD_NS (20ull * 1000 * 1000)
#define POLL_NS (50ull * 1000 * 1000)
#define POLL_SHARE 100 /* looking for threads takes at most this part of our time */
#define BLOCKED_NS (500ull * 1000 * 1000)
#define COMM_NS (500ull * 1000 * 1000)
#define CREDIT 64u /* snapshots that a process may send from one round to the next */

/* ---- code */

static void on_code(void *context, struct code *code)
{
	struct source *s = context;
	const void *vdso;
	size_t size;

	/* The number may have been other code's. */
	walk_arena_reset_module(s->arena, code->index);
	if (code->kind == MODULE_ELF && code->nr_segments)
		table_builder_request(s->builder, code->index, code->fd);
	else if (code->kind == MODULE_VDSO && (vdso = code_vdso_image(&size)))
		table_builder_request_memory(s->builder, code->index, vdso, size);
	else
		walk_arena_add_table(s->arena, code->index, NULL);
}

static void take_tables(struct source *s)
{
	struct unwind_table *table;
	uint32_t index;

	while (table_builder_take(s->builder, &index, &table)) {
		if (table)
			s->stats.nr_rows += table->nr_rows;
		if (walk_arena_add_table(s->arena, index, table))
			s->stats.nr_limits++;
		unwind_table_free(table);
	}
}

/* ---- mappings */

static uint64_t bias_of(const struct mapping *m)
{
	uint64_t vaddr;

	if (m->code->kind != MODULE_ELF || !code_vaddr(m->code, m->pgoff, &vaddr))
		vaddr = m->pgoff;
	return m->start - vaddr;
}

/* Into the table that does not count, which then does. */
static void publish_maps(struct source *s, struct timer_process *p)
{
	struct walk_space *space = p->region.space;
	uint32_t next = p->region.generation + 1;
	struct walk_map *maps = space->maps[next & 1];
	size_t nr = p->maps.nr_maps;

	if (nr > WALK_MAX_MAPS) {
		nr = WALK_MAX_MAPS;
		s->stats.nr_limits++;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct mapping *m = &p->maps.maps[i];

		maps[i] = (struct walk_map){
			.start = m->start,
			.end = m->end,
			.bias = bias_of(m),
			.module = m->code->index,
		};
	}
	__atomic_store_n(&space->nr_maps[next & 1], (uint32_t)nr, __ATOMIC_RELAXED);
	__atomic_store_n(&space->epoch, p->maps_epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&space->generation, next, __ATOMIC_RELEASE);
	p->region.generation = next;
}

static bool has_ended(const struct timer_process *p)
{
	struct proc_status status;

	return proc_status_read(p->maps.pid, &status) || (status.ended && status.nr_threads <= 1);
}

static bool same_maps(const struct process *a, const struct process *b)
{
	if (a->nr_maps != b->nr_maps)
		return false;
	for (size_t i = 0; i < a->nr_maps; i++)
		if (a->maps[i].start != b->maps[i].start || a->maps[i].end != b->maps[i].end ||
		    a->maps[i].pgoff != b->maps[i].pgoff || a->maps[i].code != b->maps[i].code)
			return false;
	return true;
}

/* The file is read anew each time: nobody tells us what is unmapped. */
static int read_maps(struct source *s, struct timer_process *p)
{
	uint32_t epoch = __atomic_load_n(&p->region.shared->maps_epoch, __ATOMIC_ACQUIRE);
	struct process now = { .pid = p->maps.pid, .epoch = p->maps.epoch };
	bool changed;
	int err;

	p->maps.read_ns = monotonic_ns();
	__atomic_store_n(&p->region.shared->maps_wanted, 0, __ATOMIC_RELAXED);
	err = process_read_maps(&now, s->codes, on_code, s);
	/* What ends meanwhile shows a list cut short. */
	if (err || (p->region.generation && has_ended(p))) {
		process_fini(&now);
		return err;
	}
	changed = !same_maps(&p->maps, &now);
	if (changed) {
		now.known_ns = p->maps.known_ns;
		now.read_ns = p->maps.read_ns;
		now.epoch++;
		process_fini(&p->maps);
		p->maps = now;
	} else {
		process_fini(&now);
	}
	if (changed || epoch != p->maps_epoch || !p->region.generation) {
		p->maps_epoch = epoch;
		publish_maps(s, p);
	}
	return 0;
}

void timer_reread(struct source *s, struct timer_process *p, uint64_t since_ns)
{
	if (!p->ended_ns && p->maps.read_ns < since_ns)
		read_maps(s, p);
}

/* ---- threads */

static void read_comm(const struct timer_process *p, struct timer_thread *t)
{
	char path[64], line[COMM_SIZE + 1] = "";
	FILE *f;

	t->read_ns = monotonic_ns();
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

	HASH_FIND_INT(p->threads, &tid, t);
	if (t && p->renumbers && t->outer == tid)
		t->outer = timer_outer(p, tid); /* it may have been too new */
	if (!t) {
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		t->outer = timer_outer(p, tid);
		t->last_stack = PROFILE_NONE;
		/* What has ended before we could ask has the name of its process. */
		HASH_FIND_INT(p->threads, &first, leader);
		if (leader)
			memcpy(t->comm, leader->comm, COMM_SIZE);
		HASH_ADD_INT(p->threads, tid, t);
	}
	if (!p->ended_ns && monotonic_ns() - t->read_ns > COMM_NS)
		read_comm(p, t);
	return t;
}

static void forget_threads(struct timer_process *p)
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

/* Is it on a CPU, or about to be? Then a signal breaks into no system call that waits. */
static bool is_running(const struct timer_process *p, pid_t tid)
{
	char path[64], line[512], *end;
	bool running = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)p->maps.pid, (int)tid);
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

		if (!is_running(p, tid))
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

/* Threads that run and cannot be sampled are said, once for each process. */
static void look_for_blocked(struct timer_process *p, uint64_t now)
{
	int signal = __atomic_load_n(&p->region.shared->signal, __ATOMIC_RELAXED);

	if (p->blocked_said || now - p->blocked_ns < BLOCKED_NS || signal < 1 || signal > SIGRTMAX)
		return;
	p->blocked_ns = now;
	for (size_t i = 0; i < p->nr_tids && !p->blocked_said; i++) {
		if (!is_running(p, p->tids[i]) || !blocks_signal(p, p->tids[i], signal))
			continue;
		p->blocked_said = true;
		log_warning("thread %d of process %d ('%.*s') blocks signal %d: it is not sampled",
			    (int)p->tids[i], (int)p->maps.pid, COMM_SIZE,
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

static void poll_threads(struct source *s, struct timer_process *p, uint64_t now)
{
	uint64_t took;

	if (has_ended(p) || list_threads(p)) {
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

/* ---- processes */

static void free_process(struct timer_process *p)
{
	timer_detach(p);
	forget_threads(p);
	timer_region_free(&p->region);
	process_fini(&p->maps);
	free(p->tids);
	free(p->numbers);
	free(p);
}

int timer_add_process(struct source *s, pid_t pid, struct timer_process **ret)
{
	uint64_t now = monotonic_ns();
	struct timer_process *p;
	size_t nr = 0;
	int err;

	for (p = s->processes; p; p = p->next) {
		if (p->maps.pid == pid && !p->ended_ns)
			p->ended_ns = now; /* it is another program now */
		nr++;
	}
	if (nr >= MAX_PROCESSES) {
		s->stats.nr_limits++;
		return -EAGAIN;
	}
	p = xcalloc(1, sizeof(*p));
	p->maps.pid = pid;
	p->renumbers = timer_numbers_differ(pid);
	p->maps.known_ns = now;
	p->next_poll_ns = now + POLL_NS;
	err = timer_region_new(&s->config, &p->region);
	if (err) {
		free(p);
		return err;
	}
	p->region.shared->clock_gettime = timer_vdso_address(pid, "__vdso_clock_gettime");
	p->region.shared->getcpu = timer_vdso_address(pid, "__vdso_getcpu");
	err = read_maps(s, p);
	if (err) {
		free_process(p);
		return err;
	}
	timer_thread(p, pid);
	p->next = s->processes;
	s->processes = p;
	*ret = p;
	return 0;
}

void timer_drop_process(struct source *s, struct timer_process *p)
{
	struct timer_process **at = &s->processes;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free_process(p);
}

/* Its losses, before they go with it. */
static void count_losses(struct source *s, struct timer_process *p)
{
	uint64_t nr = timer_region_nr_dropped(&p->region) + p->region.nr_broken;

	/* counters of a target may run backwards */
	if (nr > p->nr_lost)
		s->stats.nr_lost += nr - p->nr_lost;
	p->nr_lost = nr;
}

void timer_tend(struct source *s)
{
	struct timer_process *p, *next;
	uint64_t now;

	take_tables(s);
	for (p = s->processes; p; p = next) {
		struct agent_region *shared = p->region.shared;

		next = p->next;
		now = monotonic_ns();
		count_losses(s, p);
		if (p->ended_ns) {
			if (now > p->ended_ns + GRACE_NS)
				timer_drop_process(s, p);
			continue;
		}
		timer_region_beat(&p->region);
		__atomic_store_n(&shared->snapshot_credit, CREDIT, __ATOMIC_RELAXED);
		if (__atomic_load_n(&shared->state, __ATOMIC_RELAXED) == AGENT_ORPHANED)
			__atomic_store_n(&shared->state, AGENT_ON, __ATOMIC_RELAXED);
		if (__atomic_load_n(&shared->maps_wanted, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&shared->maps_epoch, __ATOMIC_RELAXED) != p->maps_epoch)
			timer_reread(s, p, now - REREAD_NS);
		if (now >= p->next_poll_ns)
			poll_threads(s, p, now);
	}
}

void timer_stop_processes(struct source *s)
{
	for (struct timer_process *p = s->processes; p; p = p->next)
		timer_region_stop(&p->region);
	for (struct timer_process *p = s->processes; p; p = p->next)
		timer_detach(p);
}

void timer_free_processes(struct source *s)
{
	struct timer_process *p, *next;

	for (p = s->processes; p; p = next) {
		next = p->next;
		free_process(p);
	}
}
