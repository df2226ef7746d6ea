/* What the counters of the region are called in a recording. */
#ifndef SPROF_GPU_COUNTERS_H
#define SPROF_GPU_COUNTERS_H

#include <stdint.h>

/* Stable, for machines; NULL for a counter that is not kept. */
const char *gpu_counter_name(uint32_t counter);

#endif
