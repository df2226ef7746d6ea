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
	bool some_may_be_left_out; /* pids were found by a name that others use, too */
};

/*
 * May the caller look at all of this? Removes from `pids` what may be left out, as long as one
 * remains. Processes that have ended are for the source to report. 0, or -EPERM, reported.
 */
int all_users_check(struct all_users *a);

/* Is sampling confined to processes that the caller could read itself? */
bool all_users_confined(bool asked);

#endif
