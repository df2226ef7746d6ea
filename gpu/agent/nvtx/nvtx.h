/*
 * The NVTX client: puts its functions into the tables of every copy of NVTX in the process. A copy
 * that looks for a tool calls us; one that looked too early is found in memory.
 */
#ifndef SPROF_GPU_AGENT_NVTX_H
#define SPROF_GPU_AGENT_NVTX_H

#include <stdbool.h>

#include "gpu/agent/nvtx/nvtx_abi.h"

/*
 * Puts our functions into a copy of NVTX; true if any is in place afterwards. `looking`: the copy
 * is looking for its tool right now, and its slots hold functions that start the search, which we
 * replace. Later, an empty slot means that there is no tool, and a filled one belongs to another
 * tool.
 */
bool nvtx_install(const struct nvtx_callbacks *callbacks, bool looking);
/*
 * Finds copies of NVTX that looked for a tool before we were there, in the data of every module,
 * and installs our functions.
 */
void nvtx_adopt(void);

#endif
