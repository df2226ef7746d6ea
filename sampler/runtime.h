/* Which language runtime a target has, as far as that can be told before it is sampled. */
#ifndef SPROF_RUNTIME_H
#define SPROF_RUNTIME_H

#include <sys/types.h>

#include "core/profile/source.h"

/* Of a process that runs. */
enum source_runtime runtime_of_process(pid_t pid);
/* Of a program that is to be started, by the name that the user gave. */
enum source_runtime runtime_of_program(const char *name);

#endif
