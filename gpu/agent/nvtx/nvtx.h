/* The NVTX client: its functions in the tables of every copy of NVTX in the process. */
#ifndef SPROF_GPU_AGENT_NVTX_H
#define SPROF_GPU_AGENT_NVTX_H

#include <stdbool.h>

#include "gpu/agent/nvtx/nvtx_abi.h"

/*
 * Puts our functions into a copy of NVTX; true where any is there now. While a copy looks for its tool
 * (`looking`) its slots hold functions that begin that search; later, NULL says that there is none,
 * and anything else is another tool's.
 */
bool nvtx_install(const struct nvtx_callbacks *callbacks, bool looking);
/* Finds copies of NVTX that looked for a tool before there was one, in every module's data, and
 * installs there. Needs nothing of the application's co-operation. */
void nvtx_adopt(void);

#endif
