/*
 * A descriptor is looked up once in a while: a thread that waits for a socket waits for it in many
 * samples.
 */
#include "sampler/timer/interrupted.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/waiting/blocking_calls.h"

#define NR_KNOWN 256u			 /* descriptors */
#define KNOWN_NS (1000ull * 1000 * 1000) /* for so long one keeps its meaning */
#define NR_CALLS 64u			 /* that are counted by name */

struct known_descriptor {
	pid_t pid;
	int fd;
	uint64_t read_ns; /* by the clock of the samples; 0: none */
	char text[96];
};

struct interrupted {
	struct known_descriptor known[NR_KNOWN];
	struct {
		const char *name;
		uint64_t nr, remaining_ns;
	} aborted[NR_CALLS];
	uint64_t nr_aborted, remaining_ns; /* all of them */
};

struct interrupted *interrupted_new(void)
{
	return xcalloc(1, sizeof(struct interrupted));
}

void interrupted_free(struct interrupted *i)
{
	free(i);
}

/* Can a call that waits for that only have waited for such a file? */
static bool fits(const char *file, enum wait_reason reason)
{
	return (reason != REASON_DISK && reason != REASON_SOCKET) ||
	       blocking_call_reason(file) == reason;
}

/* `reason` is what the call waits for; 0: the file says it. */
static const char *descriptor(struct interrupted *i, pid_t pid, int fd, enum wait_reason reason,
			      uint64_t now_ns)
{
	uint32_t hash = ((uint32_t)pid * 0x9e3779b1u ^ (uint32_t)fd * 0x85ebca6bu) >> 8;
	struct known_descriptor *k = &i->known[hash % NR_KNOWN];

	if (k->read_ns && k->pid == pid && k->fd == fd && now_ns - k->read_ns < KNOWN_NS &&
	    fits(k->text, reason))
		return k->text;
	k->pid = pid;
	k->fd = fd;
	k->read_ns = now_ns ? now_ns : 1;
	blocking_call_descriptor(pid, fd, k->text, sizeof(k->text));
	return fits(k->text, reason) ? k->text : ""; /* it has become another since the sample */
}

static void count_aborted(struct interrupted *i, const struct blocking_call *call,
			  uint64_t remaining_ns)
{
	const char *name = call ? call->name : "others";
	size_t at = 0;

	i->nr_aborted++;
	while (at < NR_CALLS - 1 && i->aborted[at].name && strcmp(i->aborted[at].name, name) != 0)
		at++;
	i->aborted[at].name = name;
	i->aborted[at].nr++;
	add_clamped(&i->aborted[at].remaining_ns, remaining_ns);
	add_clamped(&i->remaining_ns, remaining_ns);
}

/* Fills in the object; the same words as those of waits that the kernel was asked about. */
static enum wait_reason explain_call(struct interrupted *i, pid_t pid,
				     const struct blocking_call *call, const struct agent_sample *s,
				     char *object, size_t size)
{
	uint64_t value = s->args[call->at & 1];
	enum wait_reason reason = call->reason;
	const char *file;

	switch ((enum blocking_argument)call->argument) {
	case ARGUMENT_FUTEX: snprintf(object, size, "lock 0x%" PRIx64, value); break;
	case ARGUMENT_NR:
		snprintf(object, size, "%u descriptor%s", (unsigned)value, value == 1 ? "" : "s");
		break;
	case ARGUMENT_EPOLL: snprintf(object, size, "epoll set %d", (int)value); break;
	case ARGUMENT_FD:
		file = descriptor(i, pid, (int)value, reason, s->time_ns);
		if (!reason)
			reason = blocking_call_reason(file);
		snprintf(object, size, "%s", file);
		break;
	case ARGUMENT_NONE: break;
	}
	return reason;
}

void interrupted_explain(struct interrupted *i, pid_t pid, const struct agent_sample *s,
			 struct interruption *ret)
{
	bool waited = s->doing == AGENT_WAITED, late = s->doing == AGENT_WAITED_UNINTERRUPTED;
	const struct blocking_call *call = waited || late ? blocking_call_find(s->call) : NULL;
	enum wait_reason reason = REASON_OTHER;

	*ret = (struct interruption){ .column = COLUMN_CPU };
	if (waited && s->was_aborted)
		count_aborted(i, call, s->remaining_ns);
	if (call)
		reason = explain_call(i, pid, call, s, ret->object, sizeof(ret->object));
	/*
	 * A thread that took the signal at the end of its call may have waited for a disk. In other
	 * calls it has lost its CPU.
	 */
	if (waited || (late && reason == REASON_DISK)) {
		ret->column = COLUMN_WAITING;
	} else if (late || s->doing == AGENT_WAS_RUNNABLE) {
		ret->column = COLUMN_RUNNABLE;
		ret->object[0] = '\0';
		reason = REASON_PREEMPTED;
	} else {
		return;
	}
	ret->reason = wait_reason_name(reason);
}

static void add_aborted(const struct interrupted *i, size_t at, struct buffer *list)
{
	buffer_printf(list, "%s%s %" PRIu64, at ? ", " : "", i->aborted[at].name,
		      i->aborted[at].nr);
	if (i->aborted[at].remaining_ns)
		buffer_printf(list, " (%.2f s)", (double)i->aborted[at].remaining_ns / NS_PER_S);
}

void interrupted_report(const struct interrupted *i)
{
	struct buffer list = { 0 };
	char rest[64] = "what remained of their waits";

	if (!i->nr_aborted)
		return;
	for (size_t at = 0; at < NR_CALLS && i->aborted[at].name; at++)
		add_aborted(i, at, &list);
	buffer_add_char(&list, '\0');
	if (i->remaining_ns)
		snprintf(rest, sizeof(rest), "what remained of their waits, %.2f s or more,",
			 (double)i->remaining_ns / NS_PER_S);
	log_warning("%" PRIu64 " system calls of the program returned EINTR because of samples, "
		    "and %s depends on the program: %s",
		    i->nr_aborted, rest, list.data);
	buffer_fini(&list);
}
