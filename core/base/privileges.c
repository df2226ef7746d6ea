/* Capabilities belong to a thread: capset(2) changes those of the calling one. */
#include "core/base/privileges.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/log.h"

static void keep(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t kept = (uint32_t)(capabilities >> (32 * i));

		data[i].permitted &= kept;
		data[i].effective &= kept;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, data))
		log_debug("capabilities could not be dropped");
}

bool privileges_have(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective & (1u << (capability % 32));
}

void privileges_reduce(bool keep_admin)
{
	keep((keep_admin ? 1ull << CAP_SYS_ADMIN : 0) | 1ull << CAP_BPF | 1ull << CAP_PERFMON |
	     1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_CHECKPOINT_RESTORE |
	     1ull << CAP_KILL | 1ull << CAP_SYSLOG);
}

void privileges_drop(void)
{
	keep(0);
}
