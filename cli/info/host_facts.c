/*
 * Reads the settings of the kernel from /proc and /sys, and asks the kernel about this process. A
 * fact that cannot be read is "unknown", never an error.
 */
#include "cli/info/host_facts.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_line(const char *path, char *value, size_t size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(value, (int)size, f))
		snprintf(value, size, "unknown");
	if (f)
		fclose(f);
	value[strcspn(value, "\n")] = '\0';
}

static void read_kernel(char *value, size_t size)
{
	struct utsname u;

	snprintf(value, size, "%s", uname(&u) ? "unknown" : u.release);
}

static void read_btf(char *value, size_t size)
{
	snprintf(value, size, "%s", access("/sys/kernel/btf/vmlinux", R_OK) ? "no" : "yes");
}

static void read_paranoid(char *value, size_t size)
{
	read_line("/proc/sys/kernel/perf_event_paranoid", value, size);
}

static void read_mlock(char *value, size_t size)
{
	read_line("/proc/sys/kernel/perf_event_mlock_kb", value, size);
}

static void read_kptr(char *value, size_t size)
{
	read_line("/proc/sys/kernel/kptr_restrict", value, size);
}

/* A kernel without Yama has no such file and no restriction. */
static void read_yama(char *value, size_t size)
{
	if (access("/proc/sys/kernel/yama/ptrace_scope", F_OK))
		snprintf(value, size, "no Yama");
	else
		read_line("/proc/sys/kernel/yama/ptrace_scope", value, size);
}

/* Reads "none [integrity] confidentiality", where the word in brackets is in force. */
static void read_lockdown(char *value, size_t size)
{
	char line[128], *start, *end;

	if (access("/sys/kernel/security/lockdown", R_OK)) {
		snprintf(value, size, "unknown");
		return;
	}
	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	start = strchr(line, '[');
	end = start ? strchr(start, ']') : NULL;
	if (end)
		*end = '\0';
	snprintf(value, size, "%s", end ? start + 1 : line);
}

static void read_capabilities(char *value, size_t size)
{
	static const struct {
		const char *name;
		int number;
	} wanted[] = {
		{ "cap_bpf", CAP_BPF },
		{ "cap_perfmon", CAP_PERFMON },
		{ "cap_sys_ptrace", CAP_SYS_PTRACE },
		{ "cap_dac_read_search", CAP_DAC_READ_SEARCH },
		{ "cap_checkpoint_restore", CAP_CHECKPOINT_RESTORE },
		{ "cap_syslog", CAP_SYSLOG },
		{ "cap_sys_admin", CAP_SYS_ADMIN },
	};
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	size_t at = 0;

	if (syscall(SYS_capget, &header, data)) {
		snprintf(value, size, "unknown");
		return;
	}
	snprintf(value, size, "none");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && at < size; i++) {
		int number = wanted[i].number;

		if (data[number / 32].effective & (1u << (number % 32)))
			at += (size_t)snprintf(value + at, size - at, "%s%s", at ? "," : "",
					       wanted[i].name);
	}
}

static void read_cycles(char *value, size_t size)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	snprintf(value, size, "%s", fd < 0 ? "no" : "yes");
	if (fd >= 0)
		close(fd);
}

const struct host_fact host_facts[] = {
	{ "kernel", "kernel", read_kernel },
	{ "btf", "type information (BTF)", read_btf },
	{ "perf_event_paranoid", "kernel.perf_event_paranoid", read_paranoid },
	{ "perf_event_mlock_kb", "kernel.perf_event_mlock_kb", read_mlock },
	{ "kptr_restrict", "kernel.kptr_restrict", read_kptr },
	{ "ptrace_scope", "kernel.yama.ptrace_scope", read_yama },
	{ "lockdown", "lockdown", read_lockdown },
	{ "hardware_cycles", "hardware cycles", read_cycles },
	{ "capabilities", "capabilities", read_capabilities },
	{ NULL, NULL, NULL },
};
