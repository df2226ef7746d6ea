/*
 * Keeps what the agent costs within config.max_overhead_ppm of the time of the threads that launch:
 * from everything to whole graphs, to windows, to counts of launches, to nothing (enum gpu_level).
 * The cost is measured: time in callbacks, in reading buffers, and in switching.
 */
#ifndef SPROF_GPU_AGENT_GOVERNOR_H
#define SPROF_GPU_AGENT_GOVERNOR_H

#include <stdint.h>

/* When collecting begins, with nothing enabled yet; 0: no limit. */
void governor_begin(uint32_t limit_ppm);
/* Every 20 ms. */
void governor_tick(void);
/* Before the last records are read: closes the window, and says what is not covered by any. */
void governor_end(void);

#endif
