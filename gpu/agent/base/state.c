/*
 * Owns the one struct agent. region_map.c fills in the region, collect.c turns collecting on and
 * off; all other files only read it.
 */
#include "gpu/agent/base/state.h"

#include <sys/mman.h>

struct agent agent = { .region_fd = -1 };

void *agent_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, bytes, MADV_DONTFORK);
	return at;
}

void agent_set_state(uint32_t state)
{
	__atomic_store_n(&agent.region->state, state, __ATOMIC_RELEASE);
}
