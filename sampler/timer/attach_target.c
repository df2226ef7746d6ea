/*
 * The timer source and a process that runs already: the library in it is woken, or the payload goes into
 * it, and out of it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/timer/timer.h"

#include "core/base/log.h"
#include "sampler/attach/attach.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/inject_check.h"
#include "sampler/inject/reason.h"
#include "sampler/timer/source_timer.h"
#include "sampler/timer/follow.h"
#include "sampler/timer/library.h"

static int refuse(pid_t pid, int err, const struct inject_reason *reason)
{
	log_error(reason->why[0] ? 0 : -err, "attach to process %d%s%s", (int)pid,
		  reason->why[0] ? ": " : "", reason->why);
	if (reason->hint[0])
		log_hint("%s", reason->hint);
	return err;
}

int timer_attach_code(struct source *s, pid_t pid, struct inject_reason *reason)
{
	struct attach_files files = {
		.arena_fd = walk_arena_fd(s->arena),
		.arena_size = sizeof(struct walk_arena),
	};
	struct timer_process *p;
	int err;

	/* Before its mappings are asked for, which would only say that they are closed to us. */
	err = inject_check_status(pid, reason);
	if (err)
		return err;
	err = timer_add_process(s, pid, &p);
	if (err == -EACCES || err == -EPERM)
		inject_check_rights(pid, reason);
	if (err)
		return err;
	timer_want_threads(s, p);
	files.region_fd = p->region.fd;
	files.region = p->region.shared;
	err = attach_begin(pid, &files, &p->attach, reason);
	if (err) {
		timer_drop_process(s, p);
		return err;
	}
	p->was_attached = true;
	timer_missed_begin(p);
	log_debug("process %d: attached by timers", (int)pid);
	return 0;
}

/* 1: it has come, or will. 0: there is no way but ptrace. -errno: nor that, reported. */
static int wake(struct source *s, pid_t pid)
{
	struct inject_reason reason = { "another sprof samples it", "wait for its end, or end it" };
	int err;

	if (!timer_wake_is_possible(pid))
		return 0;
	err = timer_wake(s, pid);
	if (err >= 0) {
		log_info("process %d has " TIMER_LIBRARY " loaded%s: no ptrace", (int)pid,
			 err ? " and was woken" : ", and is woken when it runs");
		return 1;
	}
	if (err == -EBUSY)
		return refuse(pid, err, &reason);
	log_warning("process %d has " TIMER_LIBRARY " loaded but does not come: ptrace is tried",
		    (int)pid);
	return 0;
}

/* ptrace(2) asks no more than this does. */
static bool may_trace(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void source_timer_probe_process(pid_t pid, struct timer_way *ret)
{
	struct inject_reason reason = { "", "" };
	struct timer_way way = { .prearmed = timer_wake_is_possible(pid) };

	way.ok = way.prearmed || !inject_probe(pid, &reason);
	if (way.ok && !way.prearmed && !may_trace(pid))
		way.ok = !inject_check_rights(pid, &reason);
	if (!way.ok) {
		snprintf(way.why, sizeof(way.why), "%s", reason.why);
		snprintf(way.hint, sizeof(way.hint), "%s", reason.hint);
	}
	*ret = way;
}

int timer_attach(struct source *s, pid_t pid)
{
	struct inject_reason reason = { "", "" };
	int err;

	timer_follow_spare(s, pid);
	err = wake(s, pid);

	if (err)
		return err < 0 ? err : 0;
	err = timer_attach_code(s, pid, &reason);
	return err ? refuse(pid, err, &reason) : 0;
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
