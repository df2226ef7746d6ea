/*
 * Estimates of all work of a kind and name from the work that was launched in windows: the areas
 * `estimates` of gpu_region. What was launched while everything was collected is not in them.
 */
#ifndef SPROF_GPU_AGENT_ESTIMATE_H
#define SPROF_GPU_AGENT_ESTIMATE_H

#include "gpu/agent/base/state.h"

int estimate_init(void); /* 0 or -ENOMEM */
/* Adds work of the window with that number, 1 .. One caller at a time. */
void estimate_add(const struct gpu_fold *key, uint64_t ns, uint32_t window);
/* A window has ended; its work stands for `weight` times as much. Before estimate_settle(). */
void estimate_close_window(uint32_t window, double weight);
/* Adds what is known of windows that are over. The same caller as of estimate_add(). */
void estimate_settle(void);
void estimate_forget(void);

#endif
