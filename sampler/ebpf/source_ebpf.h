/* The eBPF source. core/profile/source.h says what a source does. */
#ifndef SPROF_SOURCE_EBPF_H
#define SPROF_SOURCE_EBPF_H

#include "core/profile/source.h"

extern const struct source_ops source_ebpf;

/*
 * Names a kernel address with the rights of sprof: 0 and a NUL-terminated name, or -errno. The
 * other sources know no names, and /proc/kallsyms is read instead.
 */
int source_ebpf_kernel_symbol(const struct source *source, uint64_t address, char *name,
			      size_t size);

#endif
