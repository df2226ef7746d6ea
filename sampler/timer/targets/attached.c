/* Calls sampler/attach/ with the files of the process and logs how long its threads stood still. */
#include "sampler/timer/targets/attached.h"

#include "core/base/log.h"
#include "core/portable/walk_tables.h"
#include "sampler/attach/attach.h"
#include "sampler/timer/targets/timer_process.h"

int timer_attached_begin(struct timer_process *p, int arena_fd, struct inject_reason *reason)
{
	const struct attach_files files = {
		.region_fd = p->region.fd,
		.region = p->region.shared,
		.arena_fd = arena_fd,
		.arena_size = sizeof(struct walk_arena),
	};
	int err = attach_begin(p->maps.pid, &files, &p->attached.attach, reason);

	if (!err)
		p->attached.was_attached = true;
	return err;
}

void timer_attached_end(struct timer_process *p)
{
	struct inject_reason reason = { 0 };
	struct attach_stops stops;
	int err;

	if (!p->attached.attach)
		return;
	err = attach_end(p->attached.attach, &stops, &reason);
	p->attached.attach = NULL;
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
