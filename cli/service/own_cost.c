/*
 * CPU time of running children, and of those that they have waited for, is read from /proc;
 * getrusage(2) has the time of children that this process has waited for.
 */
#include "cli/service/own_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/profile/recorder_facts.h"
#include "core/profile/source.h"
#include "core/rights/privileges.h"

#define MAX_DEPTH 4
#define MAX_CHILDREN 64 /* children of one process */

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_usec * 1000;
}

static uint64_t usage_ns(int who)
{
	struct rusage u;

	return getrusage(who, &u) ? 0 : time_ns(&u.ru_utime) + time_ns(&u.ru_stime);
}

/* Includes children that the process has waited for. */
static uint64_t process_ns(pid_t pid)
{
	unsigned long long user, kernel, user_children, kernel_children;
	const char *behind;
	char text[1024];

	if (proc_text(text, sizeof(text), "/proc/%d/stat", (int)pid))
		return 0;
	behind = strrchr(text, ')');
	if (!behind ||
	    sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &user, &kernel, &user_children, &kernel_children) != 4)
		return 0;
	return (user + kernel + user_children + kernel_children) *
	       (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* CPU time of all running descendants. Only the first thread forks helpers. */
static uint64_t children_ns(pid_t of, pid_t left_out, int depth)
{
	char text[MAX_CHILDREN * 12], *at = text;
	uint64_t sum = 0;

	if (depth == MAX_DEPTH ||
	    proc_text(text, sizeof(text), "/proc/%d/task/%d/children", (int)of, (int)of))
		return 0;
	for (int i = 0; i < MAX_CHILDREN; i++) {
		pid_t pid = (pid_t)strtol(at, &at, 10);

		if (pid <= 0)
			break;
		if (pid != left_out)
			sum += process_ns(pid) + children_ns(pid, left_out, depth + 1);
	}
	return sum;
}

static void read_memory(struct own_cost *cost)
{
	char text[8192];
	const char *now, *peak;

	if (proc_status_text(getpid(), text, sizeof(text)))
		return;
	now = proc_status_value(text, "VmRSS");
	peak = proc_status_value(text, "VmHWM");
	cost->memory_bytes = now ? strtoull(now, NULL, 10) * 1024 : 0;
	cost->peak_bytes = peak ? strtoull(peak, NULL, 10) * 1024 : 0;
}

void own_cost_read(const struct own_parts *parts, struct own_cost *cost)
{
	uint64_t cpu = usage_ns(RUSAGE_SELF) + usage_ns(RUSAGE_CHILDREN), kernel = 0;
	enum rights before = privileges_use(RIGHTS_BORROWED);

	cost->kernel_known =
		parts->ops->kernel_cost && !parts->ops->kernel_cost(parts->source, &kernel);
	privileges_use(before);
	cpu += children_ns(getpid(), parts->program, 0);
	if (parts->program_ended)
		cpu = cpu > *parts->program_ended ? cpu - *parts->program_ended : 0;
	if (cpu > cost->cpu_ns) /* less: a helper ended, and its parent did not wait for it */
		cost->cpu_ns = cpu;
	cost->kernel_ns = kernel;
	read_memory(cost);
}

void own_cost_tell(const struct own_cost *from, const struct own_cost *to, uint64_t start_ns,
		   uint64_t end_ns, struct sink *sink)
{
	const struct fact_cost row = {
		.start_ns = start_ns,
		.duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
		.cpu_ns = to->cpu_ns - from->cpu_ns,
		.kernel_ns = to->kernel_ns - from->kernel_ns,
		.kernel_known = from->kernel_known && to->kernel_known,
		.memory_bytes = to->peak_bytes,
	};

	sink->fact(sink, FACT_COST, &row);
}
