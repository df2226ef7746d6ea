/*
 * Looks variables up in the order of a table: first ranks within the job, then those in the host.
 */
#include "core/untrusted/job_rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/untrusted/process_environment.h"

#define MAX_RANK 10000000

static const struct {
	const char *rank, *size, *local;
} launchers[] = {
	{ "RANK", "WORLD_SIZE", "LOCAL_RANK" }, /* torchrun, accelerate, deepspeed */
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK" },
	{ "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID" }, /* MPICH, Intel MPI */
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK" },
	{ "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID" },
	{ "LOCAL_RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK" },
};

struct environment {
	const char *text; /* ends with NUL; NULL: the environment of this process */
	size_t size;
};

/* Returns the value of a variable; NULL: it is not set. */
static const char *variable(const struct environment *e, const char *name)
{
	size_t length = strlen(name);

	if (!e->text)
		return getenv(name);
	for (const char *at = e->text, *end = e->text + e->size; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

static bool number(const struct environment *e, const char *name, uint32_t *ret_number)
{
	const char *value = variable(e, name);
	long n;
	char *end;

	if (!value || *value < '0' || *value > '9')
		return false;
	n = strtol(value, &end, 10);
	if (*end || n > MAX_RANK)
		return false;
	*ret_number = (uint32_t)n;
	return true;
}

static bool find(const struct environment *e, struct job_rank *ret_rank)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		struct job_rank r = { 0 };

		if (!number(e, launchers[i].rank, &r.rank))
			continue;
		if (!number(e, launchers[i].size, &r.nr_ranks) || r.nr_ranks <= r.rank)
			r.nr_ranks = 0;
		if (!number(e, launchers[i].local, &r.local_rank))
			r.local_rank = r.rank;
		*ret_rank = r;
		return true;
	}
	return false;
}

bool job_rank_parse(const char *environment, size_t size, struct job_rank *ret_rank)
{
	struct buffer b = { 0 };
	struct environment e;
	bool found;

	buffer_add(&b, environment, size);
	buffer_add_char(&b, '\0'); /* ends text that was cut off */
	e = (struct environment){ b.data, b.size };
	found = find(&e, ret_rank);
	buffer_fini(&b);
	return found;
}

bool job_rank_of_environment(const struct process_environment *environment,
			     struct job_rank *ret_rank)
{
	const struct environment e = { environment->text.data, environment->text.size };

	return find(&e, ret_rank);
}

bool job_rank_of_process(pid_t pid, struct job_rank *ret_rank)
{
	struct process_environment e;
	bool found;

	if (!process_environment_read(pid, &e))
		return false;
	found = job_rank_of_environment(&e, ret_rank);
	process_environment_fini(&e);
	return found;
}

bool job_rank_own(struct job_rank *ret_rank)
{
	const struct environment own = { 0 };

	return find(&own, ret_rank);
}
