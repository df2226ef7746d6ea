/*
 * The part of the NVTX client that names things: threads, devices, contexts, streams, categories.
 */
#ifndef SPROF_GPU_AGENT_NVTX_NAMES_H
#define SPROF_GPU_AGENT_NVTX_NAMES_H

#include <stdbool.h>

#include "gpu/agent/base/records.h"
#include "gpu/agent/nvtx/nvtx_abi.h"

struct nvtx_names {
	uint8_t module, place;
	nvtx_slot function;
};

/* The naming functions and their places in NVTX's tables. */
const struct nvtx_names *nvtx_names(uint32_t *ret_nr);
/*
 * Stores a function in a slot that is empty, or with `over` in any slot. True if ours is in place
 * afterwards.
 */
bool nvtx_set_slot(const struct nvtx_callbacks *callbacks, uint32_t module, uint32_t place,
		   nvtx_slot function, bool over);
/* Keeps a name, and records it if the process is being recorded. */
void nvtx_name(enum gpu_name_kind kind, uint64_t id, uint32_t name, uint32_t domain);
/* When collecting begins: records the names kept so far. */
void nvtx_names_emit(void);

#endif
