/*
 * -errno tells little: a zombie "is not there", and what root may not look at has more rights than
 * a container gives to root. /proc/PID/status says which it is.
 */
#include "sampler/target/attach_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/proc_status.h"

static long user_of(pid_t id)
{
	char text[8192];
	const char *value;

	if (proc_status_text(id, text, sizeof(text)))
		return -1;
	value = proc_status_value(text, "Uid");
	return value ? strtol(value, NULL, 10) : -1;
}

static void hint_rights(pid_t id)
{
	long user = user_of(id);

	if (!geteuid())
		log_hint("it has rights that root lacks here: in a container, start that with "
			 "--cap-add SYS_PTRACE");
	else if (user >= 0 && user != (long)geteuid())
		log_hint("it belongs to user %ld: run sprof as that user or with sudo", user);
	else
		log_hint("it lets no other process look at it: run sprof with sudo");
}

void attach_error_report(const char *verb, pid_t id, int err)
{
	struct proc_status status;

	if (err == -ESRCH && !proc_status_read(id, &status) && status.ended) {
		log_error(0, "%s process %d: it is a zombie", verb, (int)id);
		log_hint("it has ended, and stays in lists until its parent asks for its exit "
			 "status");
		return;
	}
	log_error(-err, "%s process %d", verb, (int)id);
	if (err == -EACCES || err == -EPERM)
		hint_rights(id);
	if (err == -ESRCH)
		log_hint("it may have ended: pgrep -l NAME lists what runs");
}
