/*
 * Open addressing over entry numbers. A slot is claimed before its entry is filled; who meets it
 * meanwhile waits for some hundred nanoseconds, and then counts under entry 0.
 */
#include "gpu/agent/flops/flops_table.h"

#include <errno.h>
#include <sys/mman.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/flops/shape.h"

#define SLOTS (2 * AGENT_FLOPS)
#define MAX_PROBES 64u
#define CLAIMED UINT32_MAX
#define MAX_SPINS 4096

static uint32_t *slots;	     /* atomic: entry number, 0 = free, CLAIMED */
static uint32_t nr_used = 1; /* atomic */
static uint32_t generation;  /* atomic */

int flops_table_init(void)
{
	slots = agent_map(SLOTS * sizeof(*slots));
	nr_used = 1;
	return slots ? 0 : -ENOMEM;
}

void flops_table_forget(void)
{
	__atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
	madvise(slots, SLOTS * sizeof(*slots), MADV_DONTNEED);
	__atomic_store_n(&nr_used, 1, __ATOMIC_RELEASE);
}

uint32_t flops_table_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

static struct gpu_flops *entry_at(uint32_t i)
{
	return (struct gpu_flops *)agent_area(&agent.region->flops) + i;
}

static bool same(const struct gpu_flops *a, const struct gpu_flops *b)
{
	return a->name == b->name && a->stack == b->stack && a->range == b->range &&
	       a->type == b->type && a->source == b->source;
}

/* 0: the table is full. */
static uint32_t fill_next(const struct gpu_flops *key)
{
	uint32_t i = __atomic_load_n(&nr_used, __ATOMIC_RELAXED);
	struct gpu_flops *e;

	do
		if (i >= AGENT_FLOPS)
			return 0;
	while (!__atomic_compare_exchange_n(&nr_used, &i, i + 1, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED));
	e = entry_at(i);
	e->name = key->name;
	e->stack = key->stack;
	e->range = key->range;
	e->type = key->type;
	e->source = key->source;
	__atomic_store_n(&e->known, 1, __ATOMIC_RELEASE);
	return i;
}

static uint32_t no_room(void)
{
	agent_count(GPU_COUNT_FLOPS_FULL, 1);
	__atomic_store_n(&entry_at(0)->known, 1, __ATOMIC_RELEASE);
	return 0;
}

uint32_t flops_table_entry(const struct gpu_flops *key)
{
	uint64_t hash = arena_mix(
		((uint64_t)key->stack << 32 | key->range) ^
		arena_mix((uint64_t)key->name << 16 | (uint64_t)key->type << 8 | key->source));

	for (uint32_t i = 0; i < MAX_PROBES; i++) {
		uint32_t *slot = &slots[(hash + i) & (SLOTS - 1)];
		uint32_t at = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!at && __atomic_compare_exchange_n(slot, &at, CLAIMED, false, __ATOMIC_ACQ_REL,
						       __ATOMIC_ACQUIRE)) {
			at = fill_next(key);
			__atomic_store_n(slot, at, __ATOMIC_RELEASE);
			return at ? at : no_room();
		}
		for (int spins = 0; at == CLAIMED && spins < MAX_SPINS; spins++)
			at = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (at && at != CLAIMED && same(entry_at(at), key))
			return at;
	}
	return no_room();
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

void flops_table_add(uint32_t entry, const struct shape *shape)
{
	struct gpu_flops *e = entry_at(entry);

	if (!shape->known) {
		add(&e->unknown, 1);
		return;
	}
	if (__atomic_fetch_add(&e->low, shape->flops, __ATOMIC_RELAXED) > UINT64_MAX - shape->flops)
		add(&e->high, 1);
	if (shape->saturated)
		add(&e->saturated, 1);
	add(&e->calls, 1);
}

void flops_table_count_failed(uint32_t entry)
{
	add(&entry_at(entry)->failed, 1);
}

void flops_table_count_captured(uint32_t entry)
{
	add(&entry_at(entry)->captured, 1);
}
