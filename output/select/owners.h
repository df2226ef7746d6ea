/*
 * Whose samples are: the thread's, the process's, its rank's in a distributed job, the cgroup's,
 * container's or user's that the process belonged to. Owners become frames, in place of stacks or
 * as their roots.
 */
#ifndef SPROF_OWNERS_H
#define SPROF_OWNERS_H

#include <stdbool.h>

struct profile;

enum owner { OWNER_THREAD, OWNER_PROCESS, OWNER_RANK, OWNER_CGROUP, OWNER_CONTAINER, OWNER_USER };

/*
 * Each stack becomes one frame, the owner of its sample. `numbers`: threads and processes are named
 * with their numbers, else those of one name are one.
 */
void owners_replace(struct profile *p, enum owner owner, bool numbers);
/*
 * Puts a frame for the owner at the root of each stack. By thread, that frame takes the place of
 * the thread's name.
 */
void owners_add_root(struct profile *p, enum owner owner);

#endif
