/*
 * --all-users: processes of other users are sampled only if root asks, or a user who was chosen to
 * may. docs/security.md says how it is decided.
 */
#ifndef SPROF_ALL_USERS_H
#define SPROF_ALL_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ALL_USERS_HELP                                                                             \
	"Also sample processes of other users, and programs that run with more rights than yours " \
	"(root needs no option for that)"

/*
 * May the caller look at these processes, and at the whole system if that is asked for? `asked`:
 * --all-users was given. Processes that have ended are for somebody else to report. 0, or -EPERM,
 * reported.
 */
int all_users_check(const pid_t *pids, size_t nr, bool system_wide, bool asked);

/* Is sampling confined to processes that the caller could read itself? */
bool all_users_confined(bool asked);

#endif
