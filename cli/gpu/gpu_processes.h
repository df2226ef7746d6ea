/*
 * Chooses which of the processes that have the GPU library are recorded: sprof record
 * --gpu-processes.
 */
#ifndef SPROF_GPU_PROCESSES_H
#define SPROF_GPU_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum gpu_processes {
	GPU_PROCESSES_ALL,
	GPU_PROCESSES_CHILDREN, /* not the program that sprof started itself */
	GPU_PROCESSES_RANK0,	/* rank 0 of a distributed job, and processes without a rank */
};

/* Returns false, and leaves `ret_which` as it was, for any other text. */
bool gpu_processes_parse(const char *text, enum gpu_processes *ret_which);
const char *gpu_processes_name(enum gpu_processes which);

/* Is this process recorded? `launched`: the program that sprof started, 0 = none. */
bool gpu_processes_has(enum gpu_processes which, pid_t pid, pid_t launched);

#endif
