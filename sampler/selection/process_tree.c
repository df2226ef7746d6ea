/*
 * Reads /proc/PID/task/TID/children, or the parent of every process where the kernel has no such
 * file (CONFIG_PROC_CHILDREN). The kernel may leave a child out of that list while another one
 * ends, so a tree is read again until it does not grow.
 */
#include "sampler/selection/process_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/profile/source.h"
#include "sampler/target/proc_life.h"

#define MAX_MEMBERS 16384
#define MAX_LOOKS 16

static void add_member(struct process_tree *t, pid_t pid)
{
	struct proc_life life;
	uint32_t *place;
	bool is_new;

	if (!proc_life_read(pid, &life) || life.state == 'Z' || life.state == 'X')
		return;
	if (t->nr == MAX_MEMBERS) {
		t->full = true;
		return;
	}
	place = number_map_at(&t->places, (uint64_t)pid, &is_new);
	if (!is_new && t->members[*place].start == life.start)
		return;
	*place = (uint32_t)t->nr;
	t->members = xgrow(t->members, &t->capacity, t->nr + 1, sizeof(*t->members));
	t->members[t->nr++] = (struct tree_member){ pid, life.start };
}

void process_tree_add_root(struct process_tree *t, pid_t pid)
{
	size_t nr = t->nr;

	add_member(t, pid);
	t->nr_roots += t->nr - nr;
}

void process_tree_fini(struct process_tree *t)
{
	free(t->members);
	number_map_fini(&t->places);
	*t = (struct process_tree){ 0 };
}

/* The recorder may be a child of what it records: it leaves itself out, and so its own children. */
static void add_child(void *tree, pid_t pid)
{
	if (pid != getpid())
		add_member(tree, pid);
}

static bool is_known(const struct process_tree *t, pid_t pid)
{
	for (size_t i = 0; pid && i < t->nr; i++)
		if (t->members[i].pid == pid)
			return true;
	return false;
}

/* Adds each process whose parent is a member. */
static void add_by_parents(struct process_tree *t)
{
	DIR *processes = proc_processes();
	pid_t pid;

	while ((pid = proc_next(processes)))
		if (is_known(t, proc_life_parent(pid)))
			add_child(t, pid);
	proc_close(processes);
}

static bool has_children_files(void)
{
	FILE *f = fopen("/proc/thread-self/children", "re");

	if (f)
		fclose(f);
	return f;
}

/* Is it still the process that was found? */
static bool is_same(const struct tree_member *m)
{
	struct proc_life life;

	return proc_life_read(m->pid, &life) && life.start == m->start;
}

size_t process_tree_look(struct process_tree *t)
{
	bool by_files = has_children_files();
	size_t before = t->nr;

	if (!by_files)
		add_by_parents(t);
	/* The list grows meanwhile: children of children are found in the same look. */
	for (size_t i = 0; by_files && i < t->nr; i++)
		if (is_same(&t->members[i]))
			proc_life_children(t->members[i].pid, add_child, t);
	return t->nr - before;
}

static void report_found(const struct process_tree *t, size_t nr)
{
	size_t more = t->nr_roots > 1 ? t->nr_roots - 1 : 0;

	if (nr && !more)
		log_info("process %d has started %zu process%s that run%s, sampled too "
			 "(--no-children: without them)",
			 (int)t->members[0].pid, nr, nr == 1 ? "" : "es", nr == 1 ? "s" : "");
	else if (nr)
		log_info("the %zu processes have started %zu that run%s, sampled too "
			 "(--no-children: without them)",
			 t->nr_roots, nr, nr == 1 ? "s" : "");
	if (t->full)
		log_warning("more than %d processes belong to the targets: some that run already "
			    "are not sampled",
			    MAX_MEMBERS);
}

void process_tree_follow(struct process_tree *t, int (*add)(void *context, pid_t pid),
			 void *context)
{
	size_t at = t->nr_roots, nr = 0, nr_failed = 0;
	int first_error = 0;
	pid_t failed = 0;

	for (int i = 0; i < MAX_LOOKS && process_tree_look(t); i++) {
		for (; at < t->nr; at++) {
			int err = is_same(&t->members[at]) ? add(context, t->members[at].pid)
							   : -ESRCH;

			nr += !err;
			if (!err || err == -ESRCH)
				continue;
			if (!nr_failed++) {
				first_error = err;
				failed = t->members[at].pid;
			}
		}
	}
	report_found(t, nr);
	if (nr_failed)
		log_warning("%zu of the processes that they have started %s not sampled, such as "
			    "%d: %s",
			    nr_failed, nr_failed == 1 ? "is" : "are", (int)failed,
			    strerror(-first_error));
}

int process_tree_add_named(struct process_tree *tree, const struct source_config *config,
			   int (*add)(void *context, pid_t id, struct process_tree *tree),
			   void *context)
{
	int first_error = 0;

	for (size_t i = 0; i < config->nr_pids; i++) {
		int err = add(context, config->pids[i], tree);

		if (err && !config->some_may_fail)
			return err;
		first_error = first_error ? first_error : err;
	}
	return tree->nr_roots ? 0 : first_error;
}
