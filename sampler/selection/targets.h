/*
 * The processes named on the command line, held by pidfds: a number that is reused cannot stand for
 * one of them.
 */
#ifndef SPROF_TARGETS_H
#define SPROF_TARGETS_H

#include <stdbool.h>
#include <sys/types.h>

struct targets;

struct targets *targets_new(void);
void targets_free(struct targets *targets); /* NULL is fine */

/*
 * Adds a process by its number or by that of one of its threads; *ret_process is the process. 0 or
 * -errno (-ESRCH: it has ended).
 */
int targets_add(struct targets *targets, pid_t id, pid_t *ret_process);
/* False once all have ended, zombies included. True if none were added. */
bool targets_live(struct targets *targets);

#endif
