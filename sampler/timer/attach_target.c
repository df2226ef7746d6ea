/*
 * A process with libsprof.so in it that listens needs no ptrace: a signal wakes it, and it comes to
 * the rendezvous. All others get the payload through sampler/attach/.
 */
#include "sampler/timer/attach_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/untrusted/remote_read.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/inject_check.h"
#include "sampler/inject/seccomp_status.h"
#include "sampler/timer/library.h"
#include "sampler/timer/other_sources.h"
#include "sampler/timer/targets/processes.h"
#include "sampler/timer/rendezvous.h"
#include "sampler/timer/source_timer.h"
#include "sampler/timer/wake.h"
#include "sampler/timer/wake_signal.h"
#include "sampler/walk/walk_arena.h"

/* How long the start of a recording waits for a process. */
#define AT_ONCE_NS (100ull * 1000 * 1000)
#define LOOK_NS 1000000

static int refuse(pid_t pid, int err, const struct inject_reason *reason,
		  const struct source_config *config)
{
	char hint[256];

	other_sources_hint(reason, pid, config, hint, sizeof(hint));
	log_error(reason->why[0] ? 0 : -err, "attach to process %d%s%s", (int)pid,
		  reason->why[0] ? ": " : "", reason->why);
	if (hint[0])
		log_hint("%s", hint);
	return err;
}

int timer_attach_code(struct timer_processes *s, pid_t pid, struct inject_reason *reason)
{
	struct timer_process *p;
	int err;

	/* Asked first, because reading the mappings would fail without saying why. */
	err = inject_check_status(pid, reason);
	if (err)
		return err;
	err = timer_add_process(s, pid, &p);
	if (err == -EACCES || err == -EPERM)
		inject_check_rights(pid, reason);
	if (err)
		return err;
	timer_want_threads(s, p);
	err = timer_attached_begin(p, walk_arena_fd(s->publish.arena), reason);
	if (err) {
		timer_drop_process(s, p);
		return err;
	}
	timer_missed_begin(p);
	log_debug("process %d: attached by timers", (int)pid);
	return 0;
}

/*
 * 1: it has come. 0: it will come when it is seen to run. -EBUSY: it is another recorder's;
 * -ETIMEDOUT: it does not answer.
 */
static int wake_and_wait(const struct timer_reception *to, struct timer_rendezvous *rendezvous,
			 pid_t pid)
{
	uint64_t since_ns = monotonic_ns();
	int err = 0;

	timer_wake_add(to->wake, pid, false);
	while (!err && timer_wake_expects(to->wake, pid)) {
		if (timer_wake_is_unsent(to->wake, pid) && monotonic_ns() - since_ns > AT_ONCE_NS)
			return 0;
		err = timer_wake_try(to->wake, pid);
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
		timer_rendezvous_serve(rendezvous, to);
	}
	if (err)
		timer_wake_done(to->wake, pid);
	return err ? err : 1;
}

/* 1: it has come, or will. 0: only ptrace is left. -errno: it cannot be sampled, reported. */
static int wake(const struct timer_reception *to, struct timer_rendezvous *rendezvous, pid_t pid,
		const struct source_config *config)
{
	struct inject_reason reason = { "another sprof samples it", "wait for its end, or end it",
					false };
	int err;

	if (!timer_wake_is_possible(pid))
		return 0;
	err = wake_and_wait(to, rendezvous, pid);
	if (err >= 0) {
		log_info("process %d has " TIMER_LIBRARY " loaded%s: no ptrace", (int)pid,
			 err ? " and was woken" : ", and is woken when it runs");
		return 1;
	}
	if (err == -EBUSY)
		return refuse(pid, err, &reason, config);
	log_warning("process %d has " TIMER_LIBRARY " loaded but does not come: ptrace is tried",
		    (int)pid);
	return 0;
}

/* Opening /proc/PID/mem needs the same rights as ptrace(2). */
static bool may_trace(pid_t pid)
{
	int fd = remote_open_file(pid, "mem", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static const char *name_of_filters(pid_t pid)
{
	struct inject_reason reason;

	switch (inject_seccomp_kind_of_process(pid, &reason)) {
	case INJECT_NO_FILTER: return "none";
	case INJECT_FILTER_READABLE: return "read";
	case INJECT_FILTER_SHARED: return "shared";
	default: return "unknown";
	}
}

void source_timer_probe_process(pid_t pid, const struct source_ops *const *sources,
				struct timer_way *ret)
{
	const struct source_config plain = { .event = "auto", .sources = sources };
	struct inject_reason reason = { 0 };
	struct timer_way way = {
		.prearmed = timer_wake_is_possible(pid),
		.seccomp = name_of_filters(pid),
	};

	way.ok = way.prearmed || !inject_probe(pid, &reason);
	if (way.ok && !way.prearmed && !may_trace(pid))
		way.ok = !inject_check_rights(pid, &reason);
	if (!way.ok) {
		snprintf(way.why, sizeof(way.why), "%s", reason.why);
		other_sources_hint(&reason, pid, &plain, way.hint, sizeof(way.hint));
	}
	*ret = way;
}

int timer_attach(const struct timer_reception *reception, struct timer_rendezvous *rendezvous,
		 pid_t pid, const struct source_config *config)
{
	struct inject_reason reason = { 0 };
	int err = wake(reception, rendezvous, pid, config);

	if (err)
		return err < 0 ? err : 0;
	err = timer_attach_code(reception->processes, pid, &reason);
	return err ? refuse(pid, err, &reason, config) : 0;
}
