/*
 * A table indexed by the low bits of the correlation id, which CUPTI counts up. The id in the slot
 * is cleared first and stored last, so a reader that sees the same id before and after its reads
 * has read one entry.
 */
#include "gpu/agent/cupti/launch.h"

#include <errno.h>

#include "gpu/agent/base/state.h"

#define SLOTS (1u << 19) /* 12 MiB */

struct slot {
	uint32_t correlation, stack, range, tid;
	uint64_t start_ns;
};
_Static_assert(sizeof(struct slot) == 24, "2^19 slots are 12 MiB");

static struct slot *slots;

int launch_init(void)
{
	slots = agent_map(SLOTS * sizeof(*slots));
	return slots ? 0 : -ENOMEM;
}

void launch_note(uint32_t correlation, const struct launch_info *info)
{
	struct slot *s = &slots[correlation & (SLOTS - 1)];

	__atomic_store_n(&s->correlation, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&s->stack, info->stack, __ATOMIC_RELAXED);
	__atomic_store_n(&s->range, info->range, __ATOMIC_RELAXED);
	__atomic_store_n(&s->tid, info->tid, __ATOMIC_RELAXED);
	__atomic_store_n(&s->start_ns, info->start_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&s->correlation, correlation, __ATOMIC_RELEASE);
}

bool launch_find(uint32_t correlation, struct launch_info *ret)
{
	const struct slot *s = &slots[correlation & (SLOTS - 1)];

	if (!correlation || __atomic_load_n(&s->correlation, __ATOMIC_ACQUIRE) != correlation)
		return false;
	ret->stack = __atomic_load_n(&s->stack, __ATOMIC_RELAXED);
	ret->range = __atomic_load_n(&s->range, __ATOMIC_RELAXED);
	ret->tid = __atomic_load_n(&s->tid, __ATOMIC_RELAXED);
	ret->start_ns = __atomic_load_n(&s->start_ns, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->correlation, __ATOMIC_RELAXED) == correlation;
}
