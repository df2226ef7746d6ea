/*
 * A name stands for every process that has it. If none has it, the message lists names like it: a
 * service is often called other than its package (mysqld, httpd, python3.11).
 */
#include "cli/record/chosen_processes.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/options/all_users.h"
#include "cli/record/record_opts.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/rights/privileges.h"
#include "core/untrusted/remote_read.h"
#include "output/text/text.h"
#include "sampler/selection/cgroups.h"
#include "sampler/selection/process_list.h"
#include "sampler/selection/process_tree.h"

#define MAX_DESCRIBED 4 /* processes named in the recording */
#define MAX_COMMAND 256 /* bytes of the command line of each */
#define MAX_LISTED_PIDS 8
#define MAX_NEAR 5
#define MAX_NAME 64 /* bytes of a name that are compared */
#define MAX_EDITS 2

static void add_pid(struct record_opts *o, pid_t pid)
{
	for (size_t i = 0; i < o->nr_pids; i++)
		if (o->pids[i] == pid)
			return;
	o->pids = xgrow(o->pids, &o->pids_capacity, o->nr_pids + 1, sizeof(*o->pids));
	o->pids[o->nr_pids++] = pid;
}

/* Levenshtein's distance: the number of letters to insert, remove or replace. */
static size_t edits(const char *a, const char *b)
{
	size_t row[MAX_NAME + 1], na = strlen(a), nb = strlen(b);

	if (na > MAX_NAME || nb > MAX_NAME)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j], best = diagonal;

			best += tolower((unsigned char)a[i - 1]) !=
				tolower((unsigned char)b[j - 1]);
			best = above + 1 < best ? above + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[nb];
}

static bool is_near(const char *name, const char *wanted)
{
	size_t shorter = strlen(name) < strlen(wanted) ? strlen(name) : strlen(wanted);

	if (shorter < 3)
		return false;
	return strcasestr(name, wanted) || strcasestr(wanted, name) ||
	       edits(name, wanted) <= MAX_EDITS;
}

/* The name of the process that is like the wanted one, or NULL. */
static const char *near_name(const struct listed_process *p, const char *wanted)
{
	if (is_near(p->name, wanted))
		return p->name;
	return is_near(p->program, wanted) ? p->program : NULL;
}

static void hint_near(const struct process_list *l, const char *wanted)
{
	const char *near[MAX_NEAR];
	struct buffer text = { 0 };
	size_t nr = 0;

	for (size_t i = 0; i < l->nr && nr < MAX_NEAR; i++) {
		const char *name = near_name(&l->list[i], wanted);

		for (size_t j = 0; name && j < nr; j++)
			name = strcmp(near[j], name) ? name : NULL;
		if (!name)
			continue;
		buffer_add_string(&text, nr ? ", " : "");
		text_add_line(&text, name);
		near[nr++] = name;
	}
	if (nr)
		log_hint("these names are like it: %s", buffer_cstring(&text));
	else
		log_hint("pgrep -fl TEXT finds processes by their command lines; -p takes numbers "
			 "too");
	buffer_fini(&text);
}

static int find_name(struct record_opts *o, const struct process_list *l, const char *name)
{
	struct buffer text = { 0 };
	size_t nr = 0;

	for (size_t i = 0; i < l->nr; i++) {
		if (!process_is_called(&l->list[i], name))
			continue;
		add_pid(o, l->list[i].pid);
		if (nr < MAX_LISTED_PIDS)
			buffer_printf(&text, "%s%d", nr ? ", " : "", (int)l->list[i].pid);
		nr++;
	}
	if (!nr) {
		log_error(0, "find a process called '%s': none is seen from here", name);
		hint_near(l, name);
		return -ESRCH;
	}
	if (nr > MAX_LISTED_PIDS)
		buffer_printf(&text, " and %zu more", nr - MAX_LISTED_PIDS);
	log_info("called '%s': process%s %s", name, nr == 1 ? "" : "es", buffer_cstring(&text));
	buffer_fini(&text);
	return 0;
}

static int find_cgroup(char **name)
{
	char *folder;
	int err = cgroup_find(*name, &folder);

	if (err == -ENOTSUP) {
		log_error(0, "sample cgroup '%s': it is no cgroup of version 2", *name);
		log_hint("the line of /proc/PID/cgroup that begins with 0:: names the one of a "
			 "process");
	} else if (err) {
		log_error(-err, "sample cgroup '%s'", *name);
		log_hint("systemd-cgls lists cgroups; /proc/PID/cgroup names the one of a process");
	} else {
		free(*name);
		*name = folder;
	}
	return err;
}

static bool is_in(const char *folder, const char *outer)
{
	size_t length = strlen(outer);

	return !strncmp(folder, outer, length) && (!folder[length] || folder[length] == '/');
}

/* Removes cgroups that are inside another one of the list, which includes them. */
static void drop_nested(struct record_opts *o)
{
	for (size_t i = 0; i < o->nr_cgroups; i++) {
		bool nested = false;

		for (size_t j = 0; j < o->nr_cgroups && !nested; j++)
			nested = i != j && is_in(o->cgroups[i], o->cgroups[j]);
		if (!nested)
			continue;
		free(o->cgroups[i]);
		o->cgroups[i--] = o->cgroups[--o->nr_cgroups];
	}
}

static int find_names(struct record_opts *o)
{
	struct process_list list = { 0 };
	int err;

	err = process_list_read(&list);
	if (err)
		log_error(-err, "list the processes in /proc");
	for (size_t i = 0; i < o->nr_names && !err; i++)
		err = find_name(o, &list, o->names[i]);
	process_list_fini(&list);
	return err;
}

static int check_users(struct record_opts *o)
{
	struct all_users a = {
		.asked = o->all_users,
		.whole = o->system_wide	 ? "the whole system"
			 : o->nr_cgroups ? "a cgroup"
					 : NULL,
		.pids = o->pids,
		.nr_pids = o->nr_pids,
		.some_may_be_left_out = o->nr_names > 0,
	};
	int err;

	if (o->by_user && o->user != getuid())
		a.whole = "another user";
	err = all_users_check(&a);
	if (!err)
		o->nr_pids = a.nr_pids;
	return err;
}

/*
 * Finds what the targets have started, for counted calls and GPUs. Sources look again themselves,
 * because a process may fork after this look.
 */
static void find_started(struct record_opts *o)
{
	struct process_tree tree = { 0 };
	struct proc_status status;

	for (size_t i = 0; i < o->nr_pids; i++)
		if (!proc_status_read(o->pids[i], &status))
			process_tree_add_root(&tree, status.process);
	if (!o->no_children)
		process_tree_look(&tree);
	o->started = xcalloc(tree.nr - tree.nr_roots + 1, sizeof(*o->started));
	for (size_t i = tree.nr_roots; i < tree.nr; i++)
		if (o->all_users || privileges_caller_may_read(tree.members[i].pid))
			o->started[o->nr_started++] = tree.members[i].pid;
	process_tree_fini(&tree);
}

int record_targets_find(struct record_opts *o)
{
	int err = o->nr_names ? find_names(o) : 0;

	for (size_t i = 0; i < o->nr_cgroups && !err; i++)
		err = find_cgroup(&o->cgroups[i]);
	if (err)
		return err;
	drop_nested(o);
	err = check_users(o);
	if (!err)
		find_started(o);
	return err;
}

/* Adds "python3 train.py (pid 12)": later, the number alone would say nothing. */
static void describe_process(struct buffer *b, pid_t pid)
{
	FILE *f = remote_open(pid, "cmdline");
	char line[MAX_COMMAND];
	size_t n = 0;

	if (f) {
		n = fread(line, 1, sizeof(line), f);
		fclose(f);
	}
	while (n && !line[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		buffer_add_char(b, line[i] ? line[i] : ' ');
	buffer_printf(b, n ? " (pid %d)" : "pid %d", (int)pid);
}

void record_targets_describe(struct record_opts *o)
{
	struct buffer b = { 0 };

	if (o->system_wide)
		buffer_add_string(&b, "the whole system");
	if (o->by_user)
		buffer_printf(&b, "processes of user %u", (unsigned int)o->user);
	for (size_t i = 0; i < o->nr_cgroups; i++)
		buffer_printf(&b, "%s%s", i ? ", " : "cgroup ", o->cgroups[i]);
	for (size_t i = 0; i < o->nr_pids && i < MAX_DESCRIBED; i++) {
		buffer_add_string(&b, i ? ", " : "");
		describe_process(&b, o->pids[i]);
	}
	if (o->nr_pids > MAX_DESCRIBED)
		buffer_printf(&b, " and %zu more", o->nr_pids - MAX_DESCRIBED);
	for (size_t i = 0; o->program && o->program[i]; i++)
		buffer_printf(&b, "%s%s", i ? " " : "", o->program[i]);
	o->description = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
}
