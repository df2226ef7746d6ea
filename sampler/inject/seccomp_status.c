/*
 * Reads the lines Seccomp and CapEff of /proc/PID/status. The kernel lets a thread read another's
 * filters only if it has CAP_SYS_ADMIN and no filter of its own.
 */
#include "sampler/inject/seccomp_status.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/proc_status.h"
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

int inject_seccomp_check_status(const char *status, struct inject_reason *reason)
{
	long mode = inject_status_number(status, "Seccomp", SECCOMP_MODE_DISABLED);

	if (mode == SECCOMP_MODE_DISABLED || (mode == SECCOMP_MODE_FILTER && may_read_filters()))
		return 0;
	if (mode == SECCOMP_MODE_STRICT)
		return inject_refuse(reason, -ENOTSUP, "use --source ebpf or perf",
				     "it runs in seccomp's strict mode, which allows hardly any "
				     "system call");
	return inject_refuse(
		reason, -ENOTSUP,
		"run sprof as root outside the container, or use --source ebpf or perf",
		"a seccomp filter decides over its system calls, and only root "
		"(CAP_SYS_ADMIN) that has no filter itself can read it");
}

int inject_each_thread(pid_t pid, int (*check)(void *context, pid_t tid), void *context)
{
	struct dirent *entry;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			err = check(context, atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
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
