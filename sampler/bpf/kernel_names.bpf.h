/*
 * Names kernel addresses: bpf_snprintf("%ps") searches the kernel's own symbol table, with modules
 * and BPF programs, for one address. The recorder runs this program when it needs a name; sampling
 * does not.
 */
#ifndef SPROF_KERNEL_NAMES_BPF_H
#define SPROF_KERNEL_NAMES_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_name);
} kernel_name SEC(".maps");

SEC("syscall")
int name_kernel_address(void *ctx)
{
	static const char format[] = "%ps";
	__u32 zero = 0;
	struct kernel_name *request = bpf_map_lookup_elem(&kernel_name, &zero);

	if (!request)
		return 0;
	bpf_snprintf(request->name, sizeof(request->name), format, &request->address, 8);
	return 0;
}

#endif
