/*
 * The producer's side of the rings: base/region.h says how they work. A lane is the ring of one
 * thread, or one that several threads share, together with its counts of API calls.
 */
#ifndef SPROF_GPU_AGENT_LANE_H
#define SPROF_GPU_AGENT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/state.h"

struct lane {
	struct gpu_lane *shared; /* NULL: none, records are dropped */
	char *data;
	uint64_t mask;
	bool alone; /* only one thread writes it */
	struct gpu_api *apis;
};

/* Fills in *ret for lane `index` of the region. */
void lane_open(uint32_t index, struct lane *ret);
/*
 * Copies a record (its head filled in, its size a multiple of 8) into the ring, or counts it as
 * dropped. Does nothing where records are not wanted.
 */
void lane_emit(const struct lane *lane, const struct gpu_record *record);
/*
 * Returns room for a record of `size` bytes to fill in place, or NULL. Filling in place avoids a
 * stall: copying a record that was just stored field by field takes a third of its whole cost.
 * lane_end() writes the head, which the caller leaves alone.
 */
void *lane_begin(const struct lane *lane, uint16_t size);
/* Writes the head and so hands the record to the reader. */
void lane_end(void *record, uint16_t type, uint16_t size, uint32_t tid);
/* The entry of an API call; `name` and `api_class` are stored at the first call. */
struct gpu_api *lane_api(const struct lane *lane, uint32_t domain, uint32_t cbid, const char *name,
			 uint32_t api_class);
/* Counts one call of `ns`. Exact even when the ring is full. */
void lane_count_call(const struct lane *lane, struct gpu_api *api, uint64_t ns);

#endif
