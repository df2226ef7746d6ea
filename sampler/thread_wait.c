/*
 * /proc/PID/task/TID/syscall has the number of the system call and its arguments.
 */
#include "sampler/thread_wait.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/proc_status.h"
#include "sampler/waiting/blocking_calls.h"
#include "sampler/waiting/lock_places.h"
#include "sampler/waiting/wait_reason.h"

enum { NR_ARGUMENTS = 6, MAX_INFO = 65536 /* bytes of fdinfo that are read */ };

/* How many descriptors an epoll instance watches. */
static unsigned nr_watched(pid_t pid, uint64_t fd)
{
	char text[MAX_INFO];
	unsigned nr = 0;

	proc_text(text, sizeof(text), "/proc/%d/fdinfo/%d", (int)pid, (int)fd);
	for (const char *at = text; (at = strstr(at, "tfd:")); at++)
		nr++;
	return nr;
}

static void describe_lock(struct lock_places *locks, pid_t pid, uint64_t address, char *ret_text,
			  size_t size)
{
	char place[256];

	lock_place_text(lock_places_find(locks, pid, address), place, sizeof(place));
	snprintf(ret_text, size, "%s, futex at 0x%" PRIx64 "%s%s", wait_reason_name(REASON_LOCK),
		 address, *place ? ", " : "", place);
}

static void describe_call(struct lock_places *locks, pid_t pid, const struct blocking_call *call,
			  const uint64_t *arguments, char *ret_text, size_t size)
{
	uint64_t value = arguments[call->at];
	enum wait_reason reason = call->reason;
	char file[256];

	switch ((enum blocking_argument)call->argument) {
	case ARGUMENT_FUTEX: describe_lock(locks, pid, value, ret_text, size); return;
	case ARGUMENT_NR:
		snprintf(ret_text, size, "%s, %s of %u descriptor%s", wait_reason_name(reason),
			 call->name, (unsigned)value, value == 1 ? "" : "s");
		return;
	case ARGUMENT_EPOLL:
		snprintf(ret_text, size, "%s, %s on descriptor %d, which watches %u",
			 wait_reason_name(reason), call->name, (int)value, nr_watched(pid, value));
		return;
	case ARGUMENT_FD:
		blocking_call_descriptor(pid, (int)value, file, sizeof(file));
		if (!reason)
			reason = blocking_call_reason(file);
		snprintf(ret_text, size, "%s, %s of descriptor %d%s%s", wait_reason_name(reason),
			 call->name, (int)value, *file ? ", " : "", file);
		return;
	case ARGUMENT_NONE:
		snprintf(ret_text, size, "%s, %s", wait_reason_name(reason), call->name);
		return;
	}
}

/* "202 0x7ffc 0x80 ... SP PC", "-1 SP PC" outside of a call, or "running". */
static bool parse_call(const char *text, long *ret_number, uint64_t ret_arguments[NR_ARGUMENTS])
{
	uint64_t *a = ret_arguments;

	return sscanf(text,
		      "%ld 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64
		      " 0x%" SCNx64,
		      ret_number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) == 1 + NR_ARGUMENTS;
}

void thread_wait_describe(struct lock_places *locks, pid_t pid, pid_t tid, const char *wchan,
			  char *ret_text, size_t size)
{
	uint64_t arguments[NR_ARGUMENTS];
	const struct blocking_call *call;
	char text[256];
	long number;
	struct wait_hint hint = wait_hint_of(wchan);

	*ret_text = '\0';
	proc_text(text, sizeof(text), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	call = parse_call(text, &number, arguments) ? blocking_call_find(number) : NULL;
	if (call)
		describe_call(locks, pid, call, arguments, ret_text, size);
	else if (hint.reason)
		snprintf(ret_text, size, "%s", wait_reason_name(hint.reason));
}
