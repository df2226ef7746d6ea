/*
 * The kernel is asked, with the caller's own rights, which processes the caller could read without
 * sprof (core/rights/privileges.h): capabilities of sprof's file change nothing here.
 */
#include "cli/options/all_users.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/base/proc_status.h"

bool all_users_confined(bool asked)
{
	return getuid() && !asked;
}

static int refuse_process(pid_t pid)
{
	char status[8192];
	const char *uid;

	if (proc_status_text(pid, status, sizeof(status)))
		return 0; /* the process has ended */
	uid = proc_status_value(status, "Uid");
	if (uid && strtoul(uid, NULL, 10) != getuid())
		log_error(0, "look at process %d: it belongs to another user (uid %lu)", (int)pid,
			  strtoul(uid, NULL, 10));
	else
		log_error(0, "look at process %d: it has rights that you lack, or hides its memory",
			  (int)pid);
	log_hint("run it with sudo, or add --all-users: see sprof-record(1)");
	return -EPERM;
}

/* Whoever lends sprof's rights to every user has not chosen who may watch others. */
static int refuse_option(void)
{
	log_error(0, "look at processes of other users: this sprof has capabilities that every "
		     "user can borrow, and --all-users is for chosen ones");
	log_hint("run it with sudo, or have it installed for a group: see docs/security.md");
	return -EPERM;
}

/* Removes the processes that the caller may not read. */
static void leave_out(struct all_users *a)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_pids; i++)
		if (privileges_caller_may_read(a->pids[i]))
			a->pids[nr++] = a->pids[i];
	if (nr < a->nr_pids)
		log_info("left out because they are not yours: %zu processes (--all-users samples "
			 "them, too)",
			 a->nr_pids - nr);
	a->nr_pids = nr;
}

int all_users_check(struct all_users *a)
{
	bool any = false;

	if (!getuid())
		return 0;
	if (a->asked)
		return privileges_caller_may_ask_for_all() ? 0 : refuse_option();
	if (a->whole) {
		log_error(0, "sample %s: processes of other users belong to it", a->whole);
		log_hint("run it with sudo, or add --all-users");
		return -EPERM;
	}
	for (size_t i = 0; i < a->nr_pids && !any; i++)
		any = privileges_caller_may_read(a->pids[i]);
	if (a->some_may_be_left_out && any)
		leave_out(a);
	for (size_t i = 0; i < a->nr_pids; i++) {
		int err = privileges_caller_may_read(a->pids[i]) ? 0 : refuse_process(a->pids[i]);

		if (err)
			return err;
	}
	return 0;
}
