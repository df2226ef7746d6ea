/*
 * Reads /proc/PID/stat, for which some kernels wait while the process is in exec(2). Its second
 * field, the name in parentheses, may hold anything, so the other fields are counted from the last
 * closing parenthesis.
 */
#include "sampler/target/proc_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"

#define CLOCK_OF_PROCESS 2 /* CPUCLOCK_SCHED of the kernel */

/*
 * Where a program's code, data and stack lie in memory (fields 26 to 28) differs from one exec to
 * the next.
 */
bool proc_life_read(pid_t pid, struct proc_life *ret)
{
	char line[2048], *at, *end;

	remote_text(pid, "stat", line, sizeof(line));
	at = strchr(line, '(');
	end = strrchr(line, ')');
	if (!at || !end || end[1] != ' ')
		return false;
	*end = '\0';
	*ret = (struct proc_life){ .state = end[2] };
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
		if (field == 28)
			ret->stack_end = value;
	}
	return true;
}

uint64_t proc_life_program(pid_t pid)
{
	struct proc_life life;

	return proc_life_read(pid, &life) ? life.program : 0;
}

bool proc_life_has_ended(pid_t pid)
{
	struct proc_status status;

	return proc_status_read(pid, &status) || (status.ended && status.nr_threads <= 1);
}

uint64_t proc_life_cpu_ns(pid_t pid)
{
	struct timespec t;

	if (clock_gettime((clockid_t)(~(unsigned int)pid << 3 | CLOCK_OF_PROCESS), &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The text behind the name in a stat file, ") R PARENT ..."; NULL: there is no such file. */
static const char *read_after_name(pid_t pid, const char *name, char *line, size_t size)
{
	return remote_text(pid, name, line, size) ? NULL : strrchr(line, ')');
}

pid_t proc_life_parent(pid_t pid)
{
	const char *rest;
	char line[512];
	int parent = 0;

	rest = read_after_name(pid, "stat", line, sizeof(line));
	if (rest && sscanf(rest, ") %*c %d", &parent) != 1)
		parent = 0;
	return parent;
}

static void add_children_of_thread(pid_t pid, pid_t tid, void (*add)(void *context, pid_t child),
				   void *context)
{
	char path[64];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		add(context, child);
	if (f)
		fclose(f);
}

void proc_life_children(pid_t pid, void (*add)(void *context, pid_t child), void *context)
{
	DIR *threads = proc_threads(pid);
	pid_t tid;

	while ((tid = proc_next(threads)))
		add_children_of_thread(pid, tid, add, context);
	proc_close(threads);
}

bool proc_life_is_running(pid_t pid, pid_t tid)
{
	char name[32], line[512];
	const char *rest;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	rest = read_after_name(pid, name, line, sizeof(line));
	return rest && !strncmp(rest, ") R", 3);
}
