/* The timer source and a process that runs already: the payload goes into it, and out of it again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sampler/timer.h"

#include "core/log.h"
#include "sampler/attach.h"
#include "sampler/inject_check.h"

static int refuse(pid_t pid, int err, const struct inject_reason *reason)
{
	log_error(reason->why[0] ? 0 : -err, "attach to process %d%s%s", (int)pid,
		  reason->why[0] ? ": " : "", reason->why);
	if (reason->hint[0])
		log_hint("%s", reason->hint);
	return err;
}

int timer_attach(struct source *s, pid_t pid)
{
	struct inject_reason reason = { "", "" };
	struct attach_files files = {
		.arena_fd = walk_arena_fd(s->arena),
		.arena_size = sizeof(struct walk_arena),
	};
	struct timer_process *p;
	int err;

	/* Before its mappings are asked for, which would only say that they are closed to us. */
	err = inject_check_status(pid, &reason);
	if (err)
		return refuse(pid, err, &reason);
	err = timer_add_process(s, pid, &p);
	if (err == -EACCES || err == -EPERM)
		inject_check_rights(pid, &reason);
	if (err)
		return refuse(pid, err, &reason);
	timer_want_threads(s, p);
	files.region_fd = p->region.fd;
	files.region = p->region.shared;
	err = attach_begin(pid, &files, &p->attach, &reason);
	if (err) {
		timer_drop_process(s, p);
		return refuse(pid, err, &reason);
	}
	log_debug("process %d: attached by timers", (int)pid);
	return 0;
}

void timer_detach(struct timer_process *p)
{
	struct inject_reason reason = { "", "" };
	struct attach_stops stops;
	int err;

	if (!p->attach)
		return;
	err = attach_end(p->attach, &stops, &reason);
	p->attach = NULL;
	if (err) {
		log_warning("process %d still has sprof's code in it, which does nothing: %s",
			    (int)p->maps.pid, reason.why);
		if (reason.hint[0])
			log_hint("%s", reason.hint);
	}
	log_debug("process %d: stopped for %.1f ms to attach, %.1f and %.1f ms to detach",
		  (int)p->maps.pid, (double)stops.begin_ns / 1e6, (double)stops.quiet_ns / 1e6,
		  (double)stops.end_ns / 1e6);
}
