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
	size_t n = 0;
	FILE *f;

	f = remote_open(pid, "stat");
	if (f) {
		n = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
	}
	line[n] = '\0';
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
	FILE *f = remote_open(pid, name);
	const char *end = NULL;

	if (!f)
		return NULL;
	if (fgets(line, (int)size, f))
		end = strrchr(line, ')');
	fclose(f);
	return end;
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

bool proc_life_is_running(pid_t pid, pid_t tid)
{
	char name[32], line[512];
	const char *rest;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	rest = read_after_name(pid, name, line, sizeof(line));
	return rest && !strncmp(rest, ") R", 3);
}
