/*
 * The names under which the region's counters appear in a recording. They are stable: programs read
 * them.
 */
#ifndef SPROF_GPU_COUNTERS_H
#define SPROF_GPU_COUNTERS_H

#include <stdint.h>

/* NULL for a counter that is not written. */
const char *gpu_counter_name(uint32_t counter);

#endif
