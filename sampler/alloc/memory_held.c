/* RssAnon and VmSwap of /proc/PID/status, in KiB; they are there since Linux 4.5. */
#include "sampler/alloc/memory_held.h"

#include <stdlib.h>

#include "core/base/proc_status.h"

#define TEXT_SIZE 8192

static uint64_t kib(const char *text, const char *name)
{
	const char *value = proc_status_value(text, name);

	return value ? strtoull(value, NULL, 10) : 0;
}

uint64_t memory_held_bytes(pid_t pid)
{
	char text[TEXT_SIZE];

	if (proc_status_text(pid, text, sizeof(text)))
		return 0;
	return (kib(text, "RssAnon") + kib(text, "VmSwap")) << 10;
}
