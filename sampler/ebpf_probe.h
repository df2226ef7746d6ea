/* Whether this host lets us sample with eBPF. */
#ifndef SPROF_EBPF_PROBE_H
#define SPROF_EBPF_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* As source_ops.probe. */
bool ebpf_probe(char *why, size_t why_size, char *hint, size_t hint_size);

#endif
