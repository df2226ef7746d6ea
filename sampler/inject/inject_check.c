/*
 * Reads /proc/PID/status and a few kernel settings. Each refusal says what is in the way and what
 * would remove it.
 */
#include "sampler/inject/inject_check.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/proc_status.h"
#include "core/untrusted/target_mounts.h"
#include "sampler/inject/reason.h"
#include "sampler/inject/seccomp_status.h"

#define OWN_LIMIT_MS 3000

/* The number in a file of kernel settings, or -1. */
static int read_setting(const char *path)
{
	FILE *f = fopen(path, "re");
	int value = -1;

	if (f) {
		if (fscanf(f, "%d", &value) != 1)
			value = -1;
		fclose(f);
	}
	return value;
}

int inject_check_rights(pid_t pid, struct inject_reason *reason)
{
	char text[8192];
	long user;

	if (proc_status_text(pid, text, sizeof(text)))
		return inject_refuse(reason, -ESRCH, "pgrep -l NAME lists what runs",
				     "it has ended");
	user = inject_status_number(text, "Uid", 0);
	if (geteuid() && user != (long)geteuid())
		return inject_refuse(reason, -EPERM, "run sprof as its user or with sudo",
				     "it belongs to user %ld", user);
	if (read_setting("/proc/sys/kernel/yama/ptrace_scope") > 0 && geteuid())
		return inject_refuse(reason, -EPERM, "sudo sysctl kernel.yama.ptrace_scope=0",
				     "kernel.yama.ptrace_scope allows it to its parents only");
	return inject_refuse(reason, -EPERM,
			     geteuid() ? "run sprof with sudo"
				       : "in a container, start that with --cap-add SYS_PTRACE",
			     "ptrace(2) is not allowed: it has more rights than sprof, or has "
			     "changed its user");
}

static bool is_32_bit(pid_t pid)
{
	unsigned char ident[EI_NIDENT];
	bool is;
	int fd;

	fd = target_mounts_open_exe(pid);
	if (fd < 0)
		return false;
	is = read(fd, ident, sizeof(ident)) == sizeof(ident) && !memcmp(ident, ELFMAG, SELFMAG) &&
	     ident[EI_CLASS] == ELFCLASS32;
	close(fd);
	return is;
}

static void name_of(pid_t pid, char *name, size_t size)
{
	if (!proc_name(pid, pid, name, size))
		snprintf(name, size, "?");
}

static int check_tracer(long tracer, struct inject_reason *reason)
{
	char name[32];

	name_of((pid_t)tracer, name, sizeof(name));
	return inject_refuse_entry(reason, -EPERM, "end the debugger",
				   "process %ld (%s) traces it already", tracer, name);
}

/*
 * Is the tracer a thread of ours that pthread_join(3) has seen end, and the kernel has not yet
 * released what it traced? Waits for that.
 */
static bool is_ours_to_end(pid_t pid, long tracer)
{
	struct proc_status status;
	char text[8192];

	for (int ms = 0; ms < OWN_LIMIT_MS; ms++) {
		if (!proc_status_read((pid_t)tracer, &status) && status.process != getpid())
			return false;
		if (!proc_status_text(pid, text, sizeof(text)) &&
		    !inject_status_number(text, "TracerPid", 0))
			return true;
		usleep(1000);
	}
	return false;
}

static bool has_word(const char *line, const char *word)
{
	const char *end = line ? line + strcspn(line, "\n") : NULL, *at;

	at = line ? strstr(line, word) : NULL;
	return at && at < end;
}

int inject_check_status(pid_t pid, struct inject_reason *reason)
{
	struct proc_status status;
	char text[8192];
	long tracer;

	if (pid == getpid())
		return inject_refuse(reason, -EINVAL, "", "it is sprof itself");
	if (proc_status_text(pid, text, sizeof(text)) || proc_status_parse(text, &status))
		return inject_refuse(reason, -ESRCH, "pgrep -l NAME lists what runs",
				     "No such process");
	if (inject_status_number(text, "Kthread", 0) || (!status.has_memory && !status.ended))
		return inject_refuse(reason, -ENOTSUP, "sprof record -a samples it",
				     "it is a thread of the kernel");
	if (status.ended && status.nr_threads <= 1)
		return inject_refuse(reason, -ESRCH, "pgrep -l NAME lists what runs",
				     "it is a zombie");
	tracer = inject_status_number(text, "TracerPid", 0);
	if (tracer && !is_ours_to_end(pid, tracer))
		return check_tracer(tracer, reason);
	if (has_word(proc_status_value(text, "x86_Thread_features"), "shstk"))
		return inject_refuse_entry(reason, -ENOTSUP, "", "it runs with a shadow stack");
	if (is_32_bit(pid))
		return inject_refuse_entry(reason, -ENOTSUP, "", "it is a 32-bit program");
	return 0;
}
