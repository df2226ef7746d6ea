/*
 * Counters of the kernel side: BPF maps with a number per CPU (BPF_MAP_TYPE_PERCPU_ARRAY of u64).
 */
#ifndef SPROF_PERCPU_MAP_H
#define SPROF_PERCPU_MAP_H

#include <stdint.h>

/* The sum of an entry over all CPUs; 0 where it cannot be read. */
uint64_t percpu_map_sum(int map_fd, uint32_t key);

#endif
