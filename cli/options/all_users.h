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

struct all_users {
	bool asked;	   /* --all-users was given */
	const char *whole; /* what is sampled as a whole ("the whole system"); NULL: only `pids` */
	pid_t *pids;
	size_t nr_pids;
	bool some_may_be_left_out; /* pids found by name: other users' may be among them */
};

/*
 * May the caller look at all of these? Removes other users' processes from `pids` if some may be
 * left out and one remains. The source reports processes that have ended. 0, or -EPERM, reported.
 */
int all_users_check(struct all_users *a);

/* Is sampling confined to processes that the caller could read itself? */
bool all_users_confined(bool asked);

#endif
