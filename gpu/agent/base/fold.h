/* Exact sums of what the GPU ran: gpu_region.folds. */
#ifndef SPROF_GPU_AGENT_FOLD_H
#define SPROF_GPU_AGENT_FOLD_H

#include "gpu/agent/base/state.h"

int fold_init(void); /* 0 or -ENOMEM */
/*
 * Adds one activity. `key` has kind, subkind, device, stack, name, range and, for kernels, what was
 * launched; its sums are ignored. One caller at a time.
 */
void fold_add(const struct gpu_fold *key, uint64_t ns, uint64_t bytes);
/* The region's table has been emptied. */
void fold_forget(void);

#endif
