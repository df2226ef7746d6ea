/*
 * Control groups, version 2: the folder of a cgroup, and the processes in it and in the cgroups
 * below it.
 */
#ifndef SPROF_CGROUPS_H
#define SPROF_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Finds the folder of a cgroup. `name` is its path in the hierarchy, as /proc/PID/cgroup has it
 * behind "0::", or a path of the file system. 0, and the caller frees *ret_folder; or -errno:
 * -ENOENT: there is none; -ENOTSUP: it is no cgroup of version 2.
 */
int cgroup_find(const char *name, char **ret_folder);
/* Is the folder still a cgroup? It disappears with a container that ends. */
bool cgroup_exists(const char *folder);

/*
 * Calls fn for each process in the cgroup and below it. A process that moves meanwhile may be met
 * twice or not at all.
 */
void cgroup_visit(const char *folder, void (*fn)(void *context, pid_t pid), void *context);

#endif
