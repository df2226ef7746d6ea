/*
 * The exact sums of what the GPU ran: gpu_region.folds. An entry is keyed by kind, subkind, device,
 * stack, name, range and the call of a mathematical library.
 */
#ifndef SPROF_GPU_AGENT_FOLD_H
#define SPROF_GPU_AGENT_FOLD_H

#include "gpu/agent/base/state.h"

int fold_init(void); /* 0 or -ENOMEM */
/*
 * Adds one activity. `key` holds the key and, for kernels, the launch parameters; its sums are
 * ignored. One caller at a time.
 */
void fold_add(const struct gpu_fold *key, uint64_t ns, uint64_t bytes);
/* Starts anew after region_forget() has emptied the table. */
void fold_forget(void);

#endif
