/*
 * What the processes that are sampled start. A child that loads libsprof.so finds us by its environment;
 * the others are seen in /proc, some time after they began. One that goes on to use the CPU is woken, or
 * the code is put into it; one that cannot be reached is said at the end, with the reason. The same for a
 * process that has become another program by exec.
 */
#include "sampler/timer/follow.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/inject/reason.h"
#include "sampler/timer/timer.h"
#include "sampler/timer/library.h"

#define ROUND_NS (100ull * 1000 * 1000)
#define ROUND_SHARE 50			  /* looking takes at most this part of our time */
#define WORTH_NS (20ull * 1000 * 1000)	  /* of CPU time: less is not worth stopping somebody for */
#define LOADED_NS (2000ull * 1000 * 1000) /* of CPU time: by then a library has been set up */
#define MAX_CHILDREN 65536
#define MAX_AT_ONCE 4 /* attached to in one round: others wait for us */
#define MAX_SAID 5

struct child {
	pid_t pid;
	uint64_t start;	  /* when it began, as /proc has it: not another of the same number */
	uint64_t program; /* which it runs: another one after exec */
	uint64_t base_ns; /* CPU time that it had used before that, */
	uint64_t cpu_ns;  /* and until now */
	char name[COMM_SIZE + 1];
	char why[256]; /* it is not sampled; "": it was not tried yet */
	bool old;      /* was there before us: nobody asked for it */
	bool tried;
	UT_hash_handle hh;
};

struct timer_follow {
	struct child *children;
	uint64_t next_ns;
	size_t nr_followed, nr_short, nr_said;
	uint64_t short_ns;
	size_t nr_more;
	uint64_t more_ns;
};

struct timer_follow *timer_follow_new(void)
{
	return xcalloc(1, sizeof(struct timer_follow));
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

/* ---- what /proc says of a process */

struct life {
	char state;
	uint64_t start, program;
	char name[COMM_SIZE + 1];
};

/* Of /proc/PID/stat: where its parts lie in memory differs from one program to the next. */
static bool read_life(pid_t pid, struct life *ret)
{
	char path[64], line[2048], *at, *end;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
	}
	line[n] = '\0';
	/* the name, in parentheses, may hold anything */
	at = strchr(line, '(');
	end = strrchr(line, ')');
	if (!at || !end || end[1] != ' ')
		return false;
	*end = '\0';
	*ret = (struct life){ .state = end[2] };
	snprintf(ret->name, sizeof(ret->name), "%s", at + 1);
	at = end + 3;
	for (int field = 4; field <= 28; field++) {
		uint64_t value = strtoull(at, &end, 10);

		if (end == at)
			return false;
		at = end;
		if (field == 22)
			ret->start = value;
		else if (field >= 26 && field <= 28)
			ret->program = (ret->program ^ value) * 0x9fb21c651e98df25ull;
	}
	return true;
}

uint64_t timer_follow_program(pid_t pid)
{
	struct life life;

	return read_life(pid, &life) ? life.program : 0;
}

/* ---- who is there */

static bool is_sampled(const struct source *s, pid_t pid)
{
	for (const struct timer_process *p = s->processes; p; p = p->next)
		if (p->maps.pid == pid && !p->ended_ns)
			return true;
	return false;
}

static void add_child(struct timer_follow *f, pid_t pid, uint64_t base_ns, bool old)
{
	struct life life;
	struct child *c;

	HASH_FIND_INT(f->children, &pid, c);
	if (c || HASH_COUNT(f->children) >= MAX_CHILDREN || !read_life(pid, &life))
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

static void add_children_of_thread(const struct source *s, pid_t pid, pid_t tid, bool old)
{
	char path[64];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		if (!is_sampled(s, child))
			add_child(s->follow, child, 0, old);
	if (f)
		fclose(f);
}

static void add_children(const struct source *s, pid_t pid, bool old)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_children_of_thread(s, pid, atoi(entry->d_name), old);
	if (dir)
		closedir(dir);
}

static void add_new_children(const struct source *s, pid_t pid)
{
	add_children(s, pid, false);
}

void timer_follow_spare(struct source *s, pid_t pid)
{
	add_children(s, pid, true);
}

/* It has become another program, which nobody samples yet. */
static void look_for_exec(struct source *s, struct timer_process *p)
{
	uint64_t program = timer_follow_program(p->maps.pid);
	pid_t pid = p->maps.pid;

	if (!p->program)
		p->program = program;
	if (!program || program == p->program)
		return;
	timer_detach(p);
	p->ended_ns = monotonic_ns();
	add_child(s->follow, pid, timer_cpu_ns(pid), false);
}

static void look_around(struct source *s)
{
	struct child *c, *next;

	if (s->launched && !is_sampled(s, s->launched))
		add_child(s->follow, s->launched, 0, false);
	for (struct timer_process *p = s->processes; p; p = p->next) {
		if (p->ended_ns)
			continue;
		look_for_exec(s, p);
		add_children(s, p->maps.pid, false);
	}
	timer_wake_visit(s, add_new_children);
	HASH_ITER (hh, s->follow->children, c, next)
		if (!c->old)
			add_children(s, c->pid, false);
}

/* ---- each of them */

/* CPU time that a process may use before it is one that does not come by itself. */
static uint64_t patience_ns(const struct source *s)
{
	uint64_t comes = s->launched ? 2 * (s->config.period_ns + s->config.tick_ns) : 0;

	return comes > WORTH_NS ? comes : WORTH_NS;
}

/* Does it load libraries that its environment names? */
static const char *why_not_loaded(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return timer_library_is_static(path) ? "it is linked statically"
					     : "it was started without our LD_PRELOAD";
}

/* true: it is sampled from now on. */
static bool reach(struct source *s, struct child *c)
{
	struct inject_reason reason = { "", "" };
	int err;

	c->tried = true;
	if (timer_wake_is_possible(c->pid)) {
		timer_wake_begin(s, c->pid);
		snprintf(c->why, sizeof(c->why), TIMER_LIBRARY " in it does not answer");
		return false;
	}
	if (timer_wake_has_library(c->pid)) {
		/* it may be at its beginning still, and come */
		c->tried = c->cpu_ns - c->base_ns > LOADED_NS;
		snprintf(c->why, sizeof(c->why),
			 TIMER_LIBRARY
			 " in it does not listen, or a seccomp filter decides over it");
		return false;
	}
	err = timer_attach_code(s, c->pid, &reason);
	if (err && err != -ESRCH)
		snprintf(c->why, sizeof(c->why), "%s%s%s",
			 s->launched ? why_not_loaded(c->pid) : "", s->launched ? ", and " : "",
			 reason.why[0] ? reason.why : strerror(-err));
	return !err;
}

/* It has ended, or the recording has. */
static void settle(const struct source *s, const struct child *c)
{
	struct timer_follow *f = s->follow;
	uint64_t ns = c->cpu_ns > c->base_ns ? c->cpu_ns - c->base_ns : 0;

	if (c->old || (s->launched && ns < patience_ns(s) && !c->why[0]))
		return;
	if (!c->why[0]) {
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

/* false: it is of no interest any more. */
static bool tend_child(struct source *s, struct child *c, unsigned int *nr_reached)
{
	struct life life;
	uint64_t ns;

	if (!read_life(c->pid, &life) || life.start != c->start) {
		settle(s, c);
		return false;
	}
	if (c->old)
		return life.state != 'Z';
	if (is_sampled(s, c->pid)) {
		s->follow->nr_followed++;
		return false;
	}
	ns = timer_cpu_ns(c->pid);
	c->cpu_ns = ns > c->cpu_ns ? ns : c->cpu_ns;
	if (life.state == 'Z' || life.state == 'X') {
		settle(s, c);
		return false;
	}
	if (life.program != c->program) {
		c->program = life.program;
		c->base_ns = c->cpu_ns;
		c->tried = false;
		c->why[0] = '\0';
		memcpy(c->name, life.name, sizeof(c->name));
	}
	if (!c->tried && c->cpu_ns - c->base_ns >= patience_ns(s) && *nr_reached < MAX_AT_ONCE) {
		++*nr_reached;
		if (reach(s, c)) {
			s->follow->nr_followed++;
			return false;
		}
	}
	return true;
}

void timer_follow_tend(struct source *s)
{
	struct timer_follow *f = s->follow;
	uint64_t now = monotonic_ns(), took;
	unsigned int nr_reached = 0;
	struct child *c, *next;

	if (s->stopping || now < f->next_ns)
		return;
	look_around(s);
	HASH_ITER (hh, f->children, c, next)
		if (!tend_child(s, c, &nr_reached))
			forget(f, c);
	took = monotonic_ns() - now;
	f->next_ns = now + (took * ROUND_SHARE > ROUND_NS ? took * ROUND_SHARE : ROUND_NS);
}

void timer_follow_end(struct source *s)
{
	struct timer_follow *f = s->follow;
	struct child *c, *next;

	HASH_ITER (hh, f->children, c, next) {
		if (!is_sampled(s, c->pid))
			settle(s, c);
		forget(f, c);
	}
	if (s->launched && !s->launched_came && !f->nr_said)
		log_warning("the program was not sampled: it loaded no " TIMER_LIBRARY);
	if (f->nr_more)
		log_warning("%zu processes more were not sampled, %.0f ms of CPU time", f->nr_more,
			    (double)f->more_ns / 1e6);
	if (f->nr_short)
		log_warning(
			"%zu child processes were too short to be followed, %.0f ms of CPU time",
			f->nr_short, (double)f->short_ns / 1e6);
	log_debug("%zu child processes were followed", f->nr_followed);
}
