/*
 * The processes of some cgroups or of a user: those that there are when a recording begins and
 * those that come later.
 */
#ifndef SPROF_MEMBERS_H
#define SPROF_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct members;
struct source_config;

/* NULL: the recording is about neither cgroups nor a user. Copies what it needs. */
struct members *members_new(const struct source_config *config);
void members_free(struct members *members); /* NULL is fine */

/*
 * Calls `add` for each process that there is, and reports how many there are and how many could not
 * be added. `add` returns 0 or -errno; -ESRCH, it has ended, is no failure.
 */
void members_begin(struct members *members, int (*add)(void *context, pid_t pid), void *context);
/*
 * Calls `add` for each process that was not there before, if it is time to look again: looking
 * takes at most a fiftieth of our time. NULL is fine.
 */
void members_poll(struct members *members, int (*add)(void *context, pid_t pid), void *context);
/* False once none of the cgroups exists any more. NULL is fine. */
bool members_live(const struct members *members);

#endif
