/*
 * The kernel says which processes the caller could read without sprof (core/base/privileges.h). It
 * is asked with the caller's own rights, so capabilities of sprof's file change nothing here.
 */
#include "cli/options/all_users.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/privileges.h"
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
		return 0; /* it has ended */
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

/* The administrator who lent rights to everybody did not choose who may watch others. */
static int refuse_option(void)
{
	log_error(0, "look at processes of other users: this sprof has capabilities that every "
		     "user can borrow, and --all-users is for chosen ones");
	log_hint("run it with sudo, or have it installed for a group: see docs/security.md");
	return -EPERM;
}

int all_users_check(const pid_t *pids, size_t nr, bool system_wide, bool asked)
{
	if (!getuid())
		return 0;
	if (asked)
		return privileges_caller_may_ask_for_all() ? 0 : refuse_option();
	if (system_wide) {
		log_error(0, "sample the whole system: processes of other users belong to it");
		log_hint("run it with sudo, or add --all-users");
		return -EPERM;
	}
	for (size_t i = 0; i < nr; i++) {
		int err = privileges_caller_may_read(pids[i]) ? 0 : refuse_process(pids[i]);

		if (err)
			return err;
	}
	return 0;
}
