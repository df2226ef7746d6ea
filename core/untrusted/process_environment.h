/*
 * The environment of another process as it was at its exec: assignments that end with NUL. What a
 * process sets for itself later cannot be seen from outside. Any byte of it may be hostile.
 */
#ifndef SPROF_PROCESS_ENVIRONMENT_H
#define SPROF_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buffer.h"

struct process_environment {
	struct buffer text; /* ends with NUL */
};

/* Returns false, with nothing to free, if it cannot be read. */
bool process_environment_read(pid_t pid, struct process_environment *ret_environment);
void process_environment_fini(struct process_environment *environment);

/* The value of a variable, which ends with NUL; NULL: it is not set. */
const char *process_environment_find(const struct process_environment *environment,
				     const char *name);

#endif
