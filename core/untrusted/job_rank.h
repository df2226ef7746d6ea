/*
 * The place of a process in a distributed job: launchers (torchrun, mpirun, srun) start one process
 * per rank and tell each its rank by environment variables. Only the environment at exec counts:
 * what a process sets for itself later cannot be seen from outside.
 */
#ifndef SPROF_JOB_RANK_H
#define SPROF_JOB_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_environment;

struct job_rank {
	uint32_t rank;	     /* within the job, or else within the host */
	uint32_t nr_ranks;   /* 0: unknown */
	uint32_t local_rank; /* within the host; = rank if unknown */
};

/*
 * Finds the rank in an environment as in /proc/PID/environ: assignments that end with NUL. Returns
 * false if it names no rank, or nonsense.
 */
bool job_rank_parse(const char *environment, size_t size, struct job_rank *ret_rank);
bool job_rank_of_environment(const struct process_environment *environment,
			     struct job_rank *ret_rank);
/* The same for a running process. False also if its environment cannot be read. */
bool job_rank_of_process(pid_t pid, struct job_rank *ret_rank);
/* The same for this process. */
bool job_rank_own(struct job_rank *ret_rank);

#endif
