/* The producer's side of the rings: gpu/agent/base/region.h says how they work. */
#ifndef SPROF_GPU_AGENT_LANE_H
#define SPROF_GPU_AGENT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/state.h"

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
/*
 * The same for who fills a record in where it lies, all but its head: room for `size` bytes, or NULL. What has been
 * stored in small pieces just now can be loaded in a large one only late, so that copying it costs a third of a record.
 */
void *lane_begin(const struct lane *lane, uint16_t size);
/* And now the head: it is the reader's from here on. */
void lane_end(void *record, uint16_t type, uint16_t size, uint32_t tid);
/* One call of an API: exact, whatever the ring does. `name` is looked at only the first time. Returns
 * the entry. */
const struct gpu_api *lane_count_call(const struct lane *lane, uint32_t domain, uint32_t cbid,
				      uint64_t ns, const char *name, uint32_t api_class);

#endif
