/* Decides by a process's number, or by its rank (core/untrusted/job_rank.h). */
#include "cli/gpu/gpu_processes.h"

#include <stddef.h>
#include <string.h>

#include "core/untrusted/job_rank.h"

static const char *const names[] = {
	[GPU_PROCESSES_ALL] = "all",
	[GPU_PROCESSES_CHILDREN] = "children",
	[GPU_PROCESSES_RANK0] = "rank0",
};

bool gpu_processes_parse(const char *text, enum gpu_processes *ret_which)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i])) {
			*ret_which = (enum gpu_processes)i;
			return true;
		}
	return false;
}

const char *gpu_processes_name(enum gpu_processes which)
{
	return names[which];
}

bool gpu_processes_has(enum gpu_processes which, pid_t pid, pid_t launched)
{
	struct job_rank rank;

	if (which == GPU_PROCESSES_CHILDREN)
		return pid != launched;
	return which != GPU_PROCESSES_RANK0 || !job_rank_of_process(pid, &rank) || !rank.rank;
}
