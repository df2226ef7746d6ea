/* The eBPF source; see core/profile/source.h for what a source owes. */
#ifndef SPROF_SOURCE_EBPF_H
#define SPROF_SOURCE_EBPF_H

#include "core/profile/source.h"

extern const struct source_ops source_ebpf;

#endif
