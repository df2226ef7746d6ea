/* Which language runtime a target has, as far as that can be told before it is sampled. */
#ifndef SPROF_RUNTIME_H
#define SPROF_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/profile/source.h"

/*
 * Of processes that run, and with `children` of those that they have started. With RUNTIME_PYTHON,
 * *ret_pid is one that runs Python. Of a large tree only the first processes are looked at.
 */
enum source_runtime runtime_of_processes(const pid_t *pids, size_t nr, bool children,
					 pid_t *ret_pid);
/* Of a program that is to be started, by the name that the user gave. */
enum source_runtime runtime_of_program(const char *name);

#endif
