/* Whether this host lets us sample with eBPF. */
#ifndef SPROF_EBPF_PROBE_H
#define SPROF_EBPF_PROBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/libbpf.h>

/* As source_ops.probe. */
bool ebpf_probe(char *why, size_t why_size, char *hint, size_t hint_size);

/* libbpf's own words go out with -v only: ours say what failed. For libbpf_set_print(). */
int ebpf_print_libbpf(enum libbpf_print_level level, const char *format, va_list ap);

#endif
