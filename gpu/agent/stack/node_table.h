/*
 * A table of nodes of CUDA graphs, with open addressing by the node's id, which is the first field
 * of an entry; 0: free. It is never emptied: ids have no end, but a program makes few graphs
 * compared with its launches. Any thread may look and add.
 */
#ifndef SPROF_GPU_AGENT_NODE_TABLE_H
#define SPROF_GPU_AGENT_NODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/agent/base/arena.h"

#define NODE_TABLE_PROBES 64u

/* One of `nr` entries of `size` bytes. NULL: it is not there, or with `add`, there is no room. */
static inline void *node_table_find(void *entries, uint32_t nr, size_t size, uint64_t id, bool add)
{
	for (uint64_t i = 0, at = arena_mix(id); id && i < NODE_TABLE_PROBES; i++) {
		uint64_t *entry = (void *)((char *)entries + (at + i) % nr * size);
		uint64_t found = __atomic_load_n(entry, __ATOMIC_ACQUIRE);

		if (!found && !add)
			return NULL;
		if (!found && __atomic_compare_exchange_n(entry, &found, id, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return entry;
		if (found == id)
			return entry;
	}
	return NULL;
}

#endif
