/*
 * Reads the lines Seccomp, Seccomp_filters and CapEff of /proc/PID/status. The kernel lets a thread
 * read another's filters only if it has CAP_SYS_ADMIN and no filter of its own.
 *
 * Filters are inherited and only ever added. So a container's processes that have as many filters
 * as its first process have the same ones. With shareProcessNamespace, the first process can be
 * that of another container, whose filters may be others: hence the look at the mount namespace.
 */
#include "sampler/inject/seccomp_status.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/inject/reason.h"

long inject_status_number(const char *status, const char *name, long absent)
{
	const char *value = proc_status_value(status, name);

	return value ? strtol(value, NULL, 10) : absent;
}

/*
 * Does the calling thread meet the conditions of ptrace_get_seccomp_filter() in kernel/seccomp.c?
 */
static bool may_read_filters(void)
{
	char text[8192];
	const char *value;

	if (proc_status_text((pid_t)syscall(SYS_gettid), text, sizeof(text)))
		return false;
	value = proc_status_value(text, "CapEff");
	return !inject_status_number(text, "Seccomp", 0) && value &&
	       strtoull(value, NULL, 16) >> CAP_SYS_ADMIN & 1;
}

long inject_seccomp_nr_filters(const char *status)
{
	if (!inject_status_number(status, "Seccomp", SECCOMP_MODE_DISABLED))
		return 0;
	return inject_status_number(status, "Seccomp_filters", -1);
}

static long nr_filters_of(pid_t pid)
{
	char text[8192];

	return proc_status_text(pid, text, sizeof(text)) ? -1 : inject_seccomp_nr_filters(text);
}

static bool has_our_mounts(pid_t tid)
{
	char its[64], ours[64];
	ssize_t its_size, our_size;

	its_size = remote_read_link(tid, "ns/mnt", its, sizeof(its));
	our_size = readlink("/proc/thread-self/ns/mnt", ours, sizeof(ours));
	return its_size > 0 && its_size == our_size && !memcmp(its, ours, (size_t)its_size);
}

/* Has the thread the filters that all of this container have, and we too? */
static int check_shared(pid_t tid, const char *status, struct inject_reason *reason)
{
	static const char remedy[] = "run sprof as root outside the container: it may read filters";
	long its = inject_seccomp_nr_filters(status), first = nr_filters_of(1),
	     ours = nr_filters_of((pid_t)syscall(SYS_gettid));

	if (its < 0)
		return inject_refuse(reason, -ENOTSUP, remedy,
				     "it has seccomp filters, and this kernel does not say how "
				     "many: Linux 5.9 is the first that does");
	if (first < 0)
		return inject_refuse(
			reason, -ENOTSUP, remedy,
			"it has seccomp filters, and whether they are those of all "
			"programs here is not known: the first process cannot be seen");
	if (its != ours || its != first)
		return inject_refuse(reason, -ENOTSUP, remedy,
				     "it has %ld seccomp filters, sprof %ld and the first process "
				     "%ld: what they allow is known only where these are equal",
				     its, ours, first);
	if (!has_our_mounts(tid))
		return inject_refuse(reason, -ENOTSUP, "run sprof inside its container",
				     "it has seccomp filters and is in another container (mount "
				     "namespace) than sprof");
	return 0;
}

int inject_seccomp_kind(pid_t tid, const char *status, struct inject_reason *reason)
{
	long mode = inject_status_number(status, "Seccomp", SECCOMP_MODE_DISABLED);
	int err;

	if (mode == SECCOMP_MODE_DISABLED)
		return INJECT_NO_FILTER;
	if (mode == SECCOMP_MODE_STRICT)
		return inject_refuse_entry(
			reason, -ENOTSUP, "",
			"it runs in seccomp's strict mode, which allows hardly any "
			"system call");
	if (may_read_filters())
		return INJECT_FILTER_READABLE;
	err = check_shared(tid, status, reason);
	return err ? err : INJECT_FILTER_SHARED;
}

struct search {
	struct inject_reason *reason;
	int kind;
};

static int see_kind(void *context, pid_t tid)
{
	struct search *s = context;
	char text[8192];
	int kind;

	if (proc_status_text(tid, text, sizeof(text)))
		return 0; /* it has ended */
	kind = inject_seccomp_kind(tid, text, s->reason);
	if (kind > s->kind)
		s->kind = kind;
	return kind < 0 ? kind : 0;
}

int inject_seccomp_kind_of_process(pid_t pid, struct inject_reason *reason)
{
	struct search s = { reason, INJECT_NO_FILTER };
	int err = inject_each_thread(pid, see_kind, &s);

	return err ? err : s.kind;
}

int inject_each_thread(pid_t pid, int (*check)(void *context, pid_t tid), void *context)
{
	DIR *threads = proc_threads(pid);
	int err = 0;
	pid_t tid;

	while (!err && (tid = proc_next(threads)))
		err = check(context, tid);
	proc_close(threads);
	return err;
}

static int check_has_none(void *context, pid_t tid)
{
	char text[8192];

	if (proc_status_text(tid, text, sizeof(text)) || !inject_status_number(text, "Seccomp", 0))
		return 0;
	return inject_refuse(
		context, -ENOTSUP, "start it with the library",
		"a seccomp filter decides over its system calls, and which of them the "
		"library makes is not known beforehand");
}

int inject_seccomp_check_none(pid_t pid, struct inject_reason *reason)
{
	return inject_each_thread(pid, check_has_none, reason);
}
