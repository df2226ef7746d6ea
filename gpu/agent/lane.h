/* The producer's side of the rings: gpu/agent/region.h says how they work. */
#ifndef SPROF_GPU_AGENT_LANE_H
#define SPROF_GPU_AGENT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/agent.h"

struct lane {
	struct gpu_lane *shared; /* NULL: the thread has none, records are dropped */
	char *data;
	uint64_t mask;
	bool alone; /* one thread only ever writes it */
	struct gpu_api *apis;
};

/* Where lane `index` of the region lies. */
void lane_open(uint32_t index, struct lane *ret);
/*
 * Puts a record (head filled in, size a multiple of 8) into the ring, or counts it as dropped. Does
 * nothing where records are not wanted.
 */
void lane_emit(const struct lane *lane, const struct gpu_record *record);
/* One call of an API: exact, whatever the ring does. `name` is looked at only the first time. Returns
 * the entry. */
const struct gpu_api *lane_count_call(const struct lane *lane, uint32_t domain, uint32_t cbid,
				      uint64_t ns, const char *name, uint32_t api_class);

#endif
