/* The part of the NVTX client that gives names to things: threads, devices, contexts, streams. */
#ifndef SPROF_GPU_AGENT_NVTX_NAMES_H
#define SPROF_GPU_AGENT_NVTX_NAMES_H

#include <stdbool.h>

#include "gpu/agent/nvtx/nvtx_abi.h"
#include "gpu/agent/base/records.h"

struct nvtx_names {
	uint8_t module, place;
	nvtx_slot function;
};

/* The functions and their places. */
const struct nvtx_names *nvtx_names(uint32_t *ret_nr);
/* Stores a function where there is none, or, with `over`, whatever is there; true where ours is there
 * now. */
bool nvtx_set_slot(const struct nvtx_callbacks *callbacks, uint32_t module, uint32_t place,
		   nvtx_slot function, bool over);
/* Remembers a name, and records it where somebody records. */
void nvtx_name(enum gpu_name_kind kind, uint64_t id, uint32_t name, uint32_t domain);
/* When collecting begins: records the names given so far. */
void nvtx_names_emit(void);

#endif
