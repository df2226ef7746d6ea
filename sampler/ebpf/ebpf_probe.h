/*
 * Says whether this host lets us sample with eBPF, for the eBPF source and for the counts of calls,
 * and keeps what libbpf prints out of the way.
 */
#ifndef SPROF_EBPF_PROBE_H
#define SPROF_EBPF_PROBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/libbpf.h>

#include "core/profile/source.h"

/* As source_ops.probe. */
bool ebpf_probe(char *why, size_t why_size, char *hint, size_t hint_size);

/* As source_ops.fit. */
enum source_fit ebpf_fit(const struct source_config *config, char *why, size_t why_size);

/* For libbpf_set_print(): libbpf's messages appear with -v only, because ours say what failed. */
int ebpf_print_libbpf(enum libbpf_print_level level, const char *format, va_list ap);

#endif
