/*
 * A child that loads libsprof.so finds us by its environment. The others are seen in /proc, some
 * time after they began: one that goes on to use the CPU is woken, or the payload is put into it. A
 * process that became another program by exec is a child like these. Looking takes at most a
 * fiftieth of our time.
 */
#include "sampler/timer/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/rights/privileges.h"
#include "core/untrusted/remote_read.h"
#include "sampler/inject/reason.h"
#include "sampler/timer/attach_target.h"
#include "sampler/timer/library.h"
#include "sampler/target/proc_life.h"
#include "sampler/selection/members.h"
#include "sampler/selection/process_tree.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/timer/wake.h"
#include "sampler/timer/wake_signal.h"

#define ROUND_NS (100ull * 1000 * 1000)
#define ROUND_SHARE 50 /* looking takes at most a fiftieth of a CPU */
/* Of CPU time; a process that used less is not worth a stop. */
#define WORTH_NS (20ull * 1000 * 1000)
#define LOADED_NS (2000ull * 1000 * 1000) /* of CPU time; a library that has used so much listens */
#define MAX_CHILDREN 65536
#define MAX_AT_ONCE 4 /* attached to in one round, so that the other targets are served too */
#define MAX_SAID 5
#define MAX_FIRST 32 /* attached to before the recording begins; each takes some milliseconds */

struct child {
	pid_t pid;
	uint64_t start;	  /* as proc_life.start */
	uint64_t program; /* as proc_life.program */
	uint64_t base_ns; /* CPU time that it had used before this program, */
	uint64_t cpu_ns;  /* and until now */
	char name[COMM_SIZE + 1];
	char why[256]; /* why it is not sampled; "": it was not tried yet */
	bool old;      /* it ran before the recording began */
	bool tried;
	UT_hash_handle hh;
};

struct timer_follow {
	struct timer_processes *processes;
	struct timer_wake *wake;
	struct members *members; /* NULL: of no cgroup or user */
	struct child *children;
	bool no_children;
	uint64_t next_ns;
	size_t nr_followed, nr_short, nr_idle, nr_said;
	uint64_t short_ns, idle_ns;
	size_t nr_more;
	uint64_t more_ns;
};

struct timer_follow *timer_follow_new(struct timer_processes *processes, struct timer_wake *wake,
				      struct members *members, bool no_children)
{
	struct timer_follow *f = xcalloc(1, sizeof(*f));

	f->members = members;
	f->no_children = no_children;
	f->processes = processes;
	f->wake = wake;
	return f;
}

static void forget(struct timer_follow *f, struct child *c)
{
	HASH_DEL(f->children, c);
	free(c);
}

void timer_follow_free(struct timer_follow *f)
{
	struct child *c, *next;

	if (!f)
		return;
	HASH_ITER (hh, f->children, c, next)
		forget(f, c);
	free(f);
}

static void add_child(struct timer_follow *f, pid_t pid, uint64_t base_ns, bool old)
{
	struct proc_life life;
	struct child *c;

	HASH_FIND_INT(f->children, &pid, c);
	if (c || HASH_COUNT(f->children) >= MAX_CHILDREN || !proc_life_read(pid, &life))
		return;
	c = xcalloc(1, sizeof(*c));
	c->pid = pid;
	c->start = life.start;
	c->program = life.program;
	c->base_ns = c->cpu_ns = base_ns;
	c->old = old;
	memcpy(c->name, life.name, sizeof(c->name));
	HASH_ADD_INT(f->children, pid, c);
}

static void add_unsampled(void *context, pid_t pid)
{
	struct timer_follow *f = context;

	if (pid != getpid() && !timer_is_sampled(f->processes, pid)) /* a target may start us */
		add_child(f, pid, 0, false);
}

static void add_children(void *context, pid_t pid)
{
	struct timer_follow *f = context;

	if (!f->no_children)
		proc_life_children(pid, add_unsampled, f);
}

/* A process that has become another program is followed as a child is. */
static void look_for_exec(struct timer_follow *f, struct timer_process *p)
{
	uint64_t program = proc_life_program(p->maps.pid);
	pid_t pid = p->maps.pid;

	if (!p->program)
		p->program = program;
	if (!program || program == p->program)
		return;
	timer_attached_end(p);
	p->ended_ns = monotonic_ns();
	add_child(f, pid, proc_life_cpu_ns(pid), false);
}

static int add_member(void *context, pid_t pid)
{
	struct timer_follow *f = context;

	if (!timer_is_sampled(f->processes, pid))
		add_child(f, pid, proc_life_cpu_ns(pid), false);
	return 0;
}

static void look_around(struct timer_follow *f)
{
	struct child *c, *next;

	if (f->processes->launched && !timer_is_sampled(f->processes, f->processes->launched))
		add_child(f, f->processes->launched, 0, false);
	for (struct timer_process *p = f->processes->first; p; p = p->next) {
		if (p->ended_ns)
			continue;
		look_for_exec(f, p);
		add_children(f, p->maps.pid);
	}
	members_poll(f->members, add_member, f);
	timer_wake_visit(f->wake, add_children, f);
	HASH_ITER (hh, f->children, c, next)
		add_children(f, c->pid);
}

/* CPU time that a process may use until it is clear that it does not come by itself. */
static uint64_t patience_ns(struct timer_follow *f)
{
	uint64_t comes =
		f->processes->launched
			? 2 * (f->processes->config.period_ns + f->processes->config.tick_ns)
			: 0;

	return comes > WORTH_NS ? comes : WORTH_NS;
}

/* Why LD_PRELOAD did not bring our library into it. */
static const char *why_not_loaded(pid_t pid)
{
	int fd = remote_open_link(pid, "exe");
	bool is_static;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	is_static = fd >= 0 && timer_library_is_static(path);
	if (fd >= 0)
		close(fd);
	return is_static ? "it is linked statically" : "it was started without our LD_PRELOAD";
}

/* Wakes the child or puts the payload into it. true: it is sampled from now on. */
static bool reach(struct timer_follow *f, struct child *c)
{
	struct inject_reason reason = { 0 };
	int err;

	c->tried = true;
	if (f->processes->callers_only && !privileges_caller_may_read(c->pid)) {
		snprintf(c->why, sizeof(c->why), "it runs with more rights than you have");
		return false;
	}
	if (timer_wake_is_possible(c->pid)) {
		timer_wake_add(f->wake, c->pid, true);
		snprintf(c->why, sizeof(c->why), TIMER_LIBRARY " in it does not answer");
		return false;
	}
	if (timer_wake_has_library(c->pid)) {
		/* it may still be starting, and come by itself */
		c->tried = c->cpu_ns - c->base_ns > LOADED_NS;
		snprintf(c->why, sizeof(c->why),
			 TIMER_LIBRARY
			 " in it does not listen, or a seccomp filter decides over it");
		return false;
	}
	err = timer_attach_code(f->processes, c->pid, &reason);
	if (err && err != -ESRCH)
		snprintf(c->why, sizeof(c->why), "%s%s%s",
			 f->processes->launched ? why_not_loaded(c->pid) : "",
			 f->processes->launched ? ", and " : "",
			 reason.why[0] ? reason.why : strerror(-err));
	return !err;
}

static int add_started(void *context, pid_t pid)
{
	struct timer_follow *f = context;

	if (!timer_is_sampled(f->processes, pid) && !timer_wake_expects(f->wake, pid))
		add_child(f, pid, proc_life_cpu_ns(pid), true);
	return 0;
}

/* Most CPU time first. */
static int compare_used(const void *a, const void *b)
{
	const struct child *x = *(struct child *const *)a, *y = *(struct child *const *)b;

	return ORDER(y->base_ns, x->base_ns) ?: ORDER(x->pid, y->pid);
}

void timer_follow_begin(struct timer_follow *f, struct process_tree *tree)
{
	struct child **list, *c, *next;
	size_t nr = 0, nr_left;

	if (!f->no_children)
		process_tree_follow(tree, add_started, f);
	if (f->members)
		members_begin(f->members, add_started, f);
	nr_left = HASH_COUNT(f->children);
	list = xcalloc(nr_left + 1, sizeof(*list));
	HASH_ITER (hh, f->children, c, next)
		list[nr++] = c;
	qsort(list, nr, sizeof(*list), compare_used);
	for (size_t i = 0; i < nr && i < MAX_FIRST; i++) {
		nr_left--;
		if (!reach(f, list[i]))
			continue;
		f->nr_followed++;
		forget(f, list[i]);
	}
	if (nr_left)
		log_info("%zu of them are attached to when they use the CPU", nr_left);
	free(list);
}

/* A child that was not sampled has ended, or the recording has: reports or counts it. */
static void settle(struct timer_follow *f, const struct child *c)
{
	uint64_t ns = c->cpu_ns > c->base_ns ? c->cpu_ns - c->base_ns : 0;

	if (f->processes->launched && ns < patience_ns(f) && !c->why[0])
		return;
	if (!c->why[0] && c->old) {
		f->nr_idle += ns > 0;
		f->idle_ns += ns;
	} else if (!c->why[0]) {
		f->nr_short++;
		f->short_ns += ns;
	} else if (f->nr_said < MAX_SAID) {
		f->nr_said++;
		log_warning("process %d ('%s') was not sampled, %.0f ms of CPU time: %s",
			    (int)c->pid, c->name, (double)ns / 1e6, c->why);
	} else {
		f->nr_more++;
		f->more_ns += ns;
	}
}

/* false: it need not be followed any more. */
static bool poll_child(struct timer_follow *f, struct child *c, unsigned int *nr_reached)
{
	struct proc_life life;
	uint64_t ns;

	if (!proc_life_read(c->pid, &life) || life.start != c->start) {
		settle(f, c);
		return false;
	}
	if (timer_is_sampled(f->processes, c->pid)) {
		f->nr_followed++;
		return false;
	}
	ns = proc_life_cpu_ns(c->pid);
	c->cpu_ns = ns > c->cpu_ns ? ns : c->cpu_ns;
	if (life.state == 'Z' || life.state == 'X') {
		settle(f, c);
		return false;
	}
	if (life.program != c->program) {
		c->program = life.program;
		c->base_ns = c->cpu_ns;
		c->tried = false;
		c->why[0] = '\0';
		memcpy(c->name, life.name, sizeof(c->name));
	}
	if (!c->tried && c->cpu_ns - c->base_ns >= patience_ns(f) && *nr_reached < MAX_AT_ONCE) {
		++*nr_reached;
		if (reach(f, c)) {
			f->nr_followed++;
			return false;
		}
	}
	return true;
}

void timer_follow_poll(struct timer_follow *f)
{
	uint64_t before = thread_cpu_ns(), took;
	unsigned int nr_reached = 0;
	struct child *c, *next;

	if (f->processes->stopping || monotonic_ns() < f->next_ns)
		return;
	look_around(f);
	HASH_ITER (hh, f->children, c, next)
		if (!poll_child(f, c, &nr_reached))
			forget(f, c);
	took = thread_cpu_ns() - before;
	f->next_ns =
		monotonic_ns() + (took * ROUND_SHARE > ROUND_NS ? took * ROUND_SHARE : ROUND_NS);
}

void timer_follow_end(struct timer_follow *f)
{
	struct child *c, *next;

	HASH_ITER (hh, f->children, c, next) {
		if (!timer_is_sampled(f->processes, c->pid))
			settle(f, c);
		forget(f, c);
	}
	if (f->processes->launched && !f->processes->launched_came && !f->nr_said)
		log_warning("the program was not sampled: it loaded no " TIMER_LIBRARY);
	if (f->nr_more)
		log_warning("%zu processes more were not sampled, %.0f ms of CPU time", f->nr_more,
			    (double)f->more_ns / 1e6);
	if (f->nr_short)
		log_warning(
			"%zu child processes were too short to be followed, %.0f ms of CPU time",
			f->nr_short, (double)f->short_ns / 1e6);
	if (f->nr_idle)
		log_warning("%zu processes that ran already used too little CPU time to be "
			    "attached to, %.0f ms",
			    f->nr_idle, (double)f->idle_ns / 1e6);
	log_debug("%zu child processes were followed", f->nr_followed);
}
