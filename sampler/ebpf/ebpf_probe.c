/*
 * Checks what the eBPF source needs, cheapest check first: kernel version, capabilities, PID
 * namespace, type information, the BPF program type, and a perf event on a whole CPU. A failed
 * check names its reason and the command that fixes it.
 */
#include "sampler/ebpf/ebpf_probe.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "sampler/waiting/waiting_way.h"

#define MIN_MAJOR 5 /* bpf_task_pt_regs() */
#define MIN_MINOR 15
#define FIRST_PID_NAMESPACE 0xeffffffcu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

static bool kernel_is_new_enough(char *why, size_t size)
{
	struct utsname u;
	int major = 0, minor = 0;

	if (uname(&u) || sscanf(u.release, "%d.%d", &major, &minor) != 2)
		return true;
	if (major > MIN_MAJOR || (major == MIN_MAJOR && minor >= MIN_MINOR))
		return true;
	snprintf(why, size, "kernel %s is older than %d.%d", u.release, MIN_MAJOR, MIN_MINOR);
	return false;
}

/* The kernel side knows processes by their PIDs of the first PID namespace. */
static bool in_first_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NAMESPACE;
}

static int open_cpu_clock(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool ebpf_probe(char *why, size_t why_size, char *hint, size_t hint_size)
{
	bool privileged = privileges_have(CAP_SYS_ADMIN) ||
			  (privileges_have(CAP_BPF) && privileges_have(CAP_PERFMON));
	int fd;

	hint[0] = '\0';
	if (!kernel_is_new_enough(why, why_size))
		return false;
	if (!privileged) {
		snprintf(why, why_size, "no BPF rights (CAP_BPF and CAP_PERFMON)");
		snprintf(hint, hint_size, "%s",
			 getuid() ? "run it with sudo, or once, for processes of your own: sudo "
				    "setcap cap_bpf,cap_perfmon=ep $(which sprof)"
				  : "root lacks them here: in a container, start that with "
				    "--cap-add BPF --cap-add PERFMON --pid=host");
		return false;
	}
	if (!in_first_pid_namespace()) {
		snprintf(why, why_size, "ebpf cannot map PIDs inside a PID namespace");
		snprintf(hint, hint_size,
			 "run sprof on the host, or the container with --pid=host");
		return false;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		snprintf(why, why_size,
			 "the kernel has no type information (/sys/kernel/btf/vmlinux)");
		snprintf(hint, hint_size, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
		return false;
	}
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL) <= 0) {
		snprintf(why, why_size, "the kernel refuses BPF programs on perf events");
		snprintf(hint, hint_size,
			 "check kernel.unprivileged_bpf_disabled, seccomp and lockdown: "
			 "cat /sys/kernel/security/lockdown");
		return false;
	}
	fd = open_cpu_clock();
	if (fd < 0) {
		snprintf(why, why_size, "the kernel refuses a perf event on a whole CPU: %s",
			 strerror(-fd));
		snprintf(hint, hint_size, "sudo sysctl kernel.perf_event_paranoid=-1");
		return false;
	}
	close(fd);
	return true;
}

#define LAST_LINES 20 /* of a message, where the verifier says what it refused */

int ebpf_print_libbpf(enum libbpf_print_level level, const char *format, va_list ap)
{
	char *text, *rest, *line;
	size_t lines = 0, nr = 0;

	if (level == LIBBPF_DEBUG || vasprintf(&text, format, ap) < 0)
		return 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (*line && (!nr || nr + LAST_LINES >= lines))
			log_debug("%s", line);
		nr++;
	}
	free(text);
	return 0;
}

/* The programs that follow waits know targets by their numbers alone. */
enum source_fit ebpf_fit(const struct source_config *config, char *why, size_t why_size)
{
	struct waiting_kernel kernel;

	if (config->clock == CLOCK_CPU && !config->syscalls)
		return SOURCE_FITS;
	if (config->nr_cgroups || config->by_user) {
		snprintf(why, why_size,
			 config->clock == CLOCK_CPU
				 ? "ebpf counts system calls of processes and of the whole system, "
				   "not of cgroups or users"
				 : "ebpf follows waits of processes and of the whole system, "
				   "not of cgroups or users");
		return SOURCE_CANNOT;
	}
	if (config->clock == CLOCK_CPU)
		return SOURCE_FITS;
	waiting_kernel_examine(&kernel);
	if (kernel.way != WAITING_CANNOT)
		return SOURCE_FITS;
	snprintf(why, why_size, "ebpf cannot follow waits: %s", waiting_way_text(kernel.way));
	return SOURCE_CANNOT;
}
