/* The eBPF source. core/profile/source.h says what a source does. */
#ifndef SPROF_SOURCE_EBPF_H
#define SPROF_SOURCE_EBPF_H

#include "core/profile/source.h"

extern const struct source_ops source_ebpf;

#endif
