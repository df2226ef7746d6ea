/* The processes named on the command line: which they are, and whether one of them still lives. */
#ifndef SPROF_TARGETS_H
#define SPROF_TARGETS_H

#include <stdbool.h>
#include <sys/types.h>

struct targets;

struct targets *targets_new(void);
void targets_free(struct targets *targets); /* NULL is fine */

/*
 * Takes the number of a process, or of one of its threads; *ret_process is the process. From now on
 * that process is meant, whoever gets its number later. 0 or -errno (-ESRCH: it has ended).
 */
int targets_add(struct targets *targets, pid_t id, pid_t *ret_process);
/* False once all have ended, whether or not their parents have asked how. True if there are none. */
bool targets_live(struct targets *targets);

#endif
