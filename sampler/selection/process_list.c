/* Reads stat, exe and the owner of each process; one that ends meanwhile is left out. */
#include "sampler/selection/process_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/proc_life.h"

#define MAX_LISTED (1u << 20)
#define DELETED " (deleted)"

/* The base name of the executable. */
static char *read_program(pid_t pid)
{
	char path[PATH_MAX], *deleted;
	ssize_t n = remote_read_link(pid, "exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	deleted = n > 0 ? strstr(path, DELETED) : NULL;
	if (deleted && !deleted[strlen(DELETED)])
		*deleted = '\0';
	return xstrdup(path_base_name(path));
}

static bool read_process(pid_t pid, struct listed_process *ret)
{
	struct proc_life life;
	char text[8192];
	const char *uid;

	if (!proc_life_read(pid, &life) || life.state == 'Z' || life.state == 'X' ||
	    proc_status_text(pid, text, sizeof(text)))
		return false;
	uid = proc_status_value(text, "Uid");
	if (!uid)
		return false;
	*ret = (struct listed_process){
		.pid = pid,
		.uid = (uid_t)strtoul(uid, NULL, 10),
		.start = life.start,
	};
	memcpy(ret->name, life.name, sizeof(ret->name));
	ret->program = read_program(pid);
	return true;
}

int process_list_read(struct process_list *ret)
{
	struct process_list l = { 0 };
	DIR *processes = proc_processes();
	pid_t pid;

	if (!processes)
		return -errno;
	while (l.nr < MAX_LISTED && (pid = proc_next(processes))) {
		struct listed_process p;

		if (pid == getpid() || !read_process(pid, &p))
			continue;
		l.list = xgrow(l.list, &l.capacity, l.nr + 1, sizeof(*l.list));
		l.list[l.nr++] = p;
	}
	proc_close(processes);
	*ret = l;
	return 0;
}

void process_list_fini(struct process_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->list[i].program);
	free(l->list);
	*l = (struct process_list){ 0 };
}

bool process_is_called(const struct listed_process *p, const char *name)
{
	size_t cut = COMM_SIZE - 1;

	if (!strcmp(p->program, name) || !strcmp(p->name, name))
		return true;
	return strlen(name) > cut && !*p->program && strlen(p->name) == cut &&
	       !strncmp(p->name, name, cut);
}
