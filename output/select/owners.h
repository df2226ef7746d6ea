/*
 * The owner of a sample: its thread, process or host, or the rank, cgroup, container or user that
 * the process belonged to. Owners become frames, in place of stacks or as their roots.
 */
#ifndef SPROF_OWNERS_H
#define SPROF_OWNERS_H

#include <stdbool.h>

struct profile;

enum owner {
	OWNER_THREAD,
	OWNER_PROCESS,
	OWNER_HOST,
	OWNER_RANK,
	OWNER_CGROUP,
	OWNER_CONTAINER,
	OWNER_USER
};

/*
 * Each stack becomes one frame, the owner of its sample. `numbers`: the names of threads and
 * processes have their tid or pid, else all of one name are one owner.
 */
void owners_replace(struct profile *p, enum owner owner, bool numbers);
/*
 * Puts a frame for the owner at the root of each stack. By thread, that frame takes the place of
 * the thread's name.
 */
void owners_add_root(struct profile *p, enum owner owner);

#endif
