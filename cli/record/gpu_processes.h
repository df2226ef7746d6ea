/* Which of the processes that have the GPU library are recorded: sprof record --gpu-processes. */
#ifndef SPROF_GPU_PROCESSES_H
#define SPROF_GPU_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum gpu_processes {
	GPU_PROCESSES_ALL,
	GPU_PROCESSES_CHILDREN, /* of the program that was started */
	GPU_PROCESSES_RANK0,	/* of a distributed job, and those that have no rank */
};

/* False, with `ret_which` as it was, where the text names none of them. */
bool gpu_processes_parse(const char *text, enum gpu_processes *ret_which);
const char *gpu_processes_name(enum gpu_processes which);

/* Is it one of them? `launched`: the program that was started, 0 = none. */
bool gpu_processes_has(enum gpu_processes which, pid_t pid, pid_t launched);

/*
 * The rank by an environment as /proc/PID/environ has it: the first variable of those that launchers set
 * (torchrun, Open MPI, MPICH, Slurm) that is there; 0 where none is.
 */
long gpu_processes_rank(const char *environment, size_t size);

#endif
