/*
 * Decides by a process's environment: launchers of distributed jobs tell each process its rank in a
 * variable. The rank within the whole job counts before the rank within this host.
 */
#include "cli/gpu/gpu_processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/untrusted/remote_read.h"

#define MAX_ENVIRONMENT (4u << 20)

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

/*
 * The value of a variable, or NULL. `environment` must end with a NUL, which also ends the value.
 */
static const char *variable(const char *environment, size_t size, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = environment, *end = environment + size; at < end;
	     at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/*
 * The rank by an environment as /proc/PID/environ has it: the value of the first variable that is
 * set of those that launchers use (torchrun, Open MPI, MPICH, Slurm); 0 where none is set.
 */
static long rank_of(const char *environment, size_t size)
{
	/* LOCAL_RANK counts within one host; for a job on several hosts RANK is the better one */
	static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
						 "SLURM_PROCID", "LOCAL_RANK" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = variable(environment, size, variables[i]);
		char *end;
		long rank = value ? strtol(value, &end, 10) : 0;

		if (value && end != value && !*end)
			return rank;
	}
	return 0;
}

/* Reads the environment as it was at exec. It is empty for a process that cannot be read. */
static void read_environment(pid_t pid, struct buffer *b)
{
	FILE *f = remote_open(pid, "environ");

	if (!f)
		return;
	buffer_add_file(b, f, MAX_ENVIRONMENT);
	fclose(f);
}

bool gpu_processes_has(enum gpu_processes which, pid_t pid, pid_t launched)
{
	struct buffer environment = { 0 };
	bool has = true;

	if (which == GPU_PROCESSES_CHILDREN)
		return pid != launched;
	if (which == GPU_PROCESSES_RANK0) {
		read_environment(pid, &environment);
		buffer_add_char(&environment, '\0');
		has = rank_of(environment.data, environment.size) == 0;
		buffer_fini(&environment);
	}
	return has;
}
