/* What BPF programs have cost, as the kernel counts it (BPF_ENABLE_STATS, Linux 5.8). */
#ifndef SPROF_PROGRAM_COST_H
#define SPROF_PROGRAM_COST_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

/*
 * Has the kernel count for as long as *ret_fd is open, which costs every BPF program of the machine
 * two readings of a clock. That takes CAP_SYS_ADMIN; without it the kernel may count all the same,
 * where kernel.bpf_stats_enabled is 1: then *ret_fd is -1. Returns whether it counts.
 */
bool program_cost_begin(int *ret_fd);
/* CPU time of all programs of an object since it was loaded, as far as it was counted. */
uint64_t program_cost_ns(const struct bpf_object *object);
/*
 * Memory of all maps of an object, in bytes, as the kernel counts it, without those that it shares
 * with `first`, under the same name. NULL: there is no such object.
 */
uint64_t program_memory_bytes(const struct bpf_object *object, const struct bpf_object *first);

#endif
