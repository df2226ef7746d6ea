/*
 * A table indexed by the low bits of the correlation id, which CUPTI counts up. The id in the slot
 * is cleared first and stored last, so a reader that sees the same id before and after its reads
 * has read one entry.
 */
#include "gpu/agent/cupti/launch.h"

#include <errno.h>

#include "gpu/agent/base/state.h"

#define SLOTS (1u << 19) /* 16 MiB */

struct slot {
	uint32_t correlation, stack, range, tid;
	uint64_t start_ns;
	uint8_t awaits_record;
	uint8_t is_of_graph;
	uint16_t flops;
	uint32_t window;
};
_Static_assert(sizeof(struct slot) == 32, "2^19 slots are 16 MiB");
_Static_assert(AGENT_FLOPS <= 1u << 16, "slot.flops holds an entry");

#define MAX_AWAITED 4096u

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
	__atomic_store_n(&s->awaits_record, info->awaits_record, __ATOMIC_RELAXED);
	__atomic_store_n(&s->is_of_graph, info->is_of_graph, __ATOMIC_RELAXED);
	__atomic_store_n(&s->window, info->window, __ATOMIC_RELAXED);
	__atomic_store_n(&s->flops, (uint16_t)info->flops, __ATOMIC_RELAXED);
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
	ret->awaits_record = __atomic_load_n(&s->awaits_record, __ATOMIC_RELAXED);
	ret->is_of_graph = __atomic_load_n(&s->is_of_graph, __ATOMIC_RELAXED);
	ret->window = __atomic_load_n(&s->window, __ATOMIC_RELAXED);
	ret->flops = __atomic_load_n(&s->flops, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->correlation, __ATOMIC_RELAXED) == correlation;
}

void launch_has_record(uint32_t correlation)
{
	struct slot *s = &slots[correlation & (SLOTS - 1)];

	if (__atomic_load_n(&s->correlation, __ATOMIC_ACQUIRE) == correlation)
		__atomic_store_n(&s->awaits_record, 0, __ATOMIC_RELAXED);
}

/* 0: the slot holds no call since then. */
static uint32_t call_since(const struct slot *s, uint64_t since_ns)
{
	uint32_t correlation = __atomic_load_n(&s->correlation, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&s->start_ns, __ATOMIC_RELAXED) >= since_ns ? correlation : 0;
}

uint32_t launch_latest(uint64_t since_ns)
{
	uint32_t latest = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t id = call_since(&slots[i], since_ns);

		if (id && (!latest || (int32_t)(id - latest) > 0))
			latest = id;
	}
	return latest;
}

static bool awaits(uint32_t slot, uint64_t since_ns)
{
	const struct slot *s = &slots[slot];

	return __atomic_load_n(&s->awaits_record, __ATOMIC_RELAXED) && call_since(s, since_ns);
}

bool launch_awaits_any(uint64_t since_ns, bool again)
{
	static uint32_t awaited[MAX_AWAITED], nr;
	uint32_t kept = 0;

	for (uint32_t i = 0; again && i < nr; i++)
		if (awaits(awaited[i], since_ns))
			awaited[kept++] = awaited[i];
	for (uint32_t i = 0; !again && i < SLOTS && kept < MAX_AWAITED; i++)
		if (awaits(i, since_ns))
			awaited[kept++] = i;
	nr = kept;
	return kept;
}
