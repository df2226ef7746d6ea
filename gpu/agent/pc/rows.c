/* An open-addressing table of row numbers beside the rows themselves, which are in the region. */
#include "gpu/agent/pc/rows.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/state.h"

#define SLOTS (2 * AGENT_PC_ROWS)
#define MAX_PROBES 64u

static uint32_t *slots; /* row number + 1, 0 = free */
static uint32_t nr_used;

int pc_rows_init(void)
{
	slots = agent_map(SLOTS * sizeof(*slots));
	nr_used = 0;
	return slots ? 0 : -ENOMEM;
}

void pc_rows_forget(void)
{
	madvise(slots, SLOTS * sizeof(*slots), MADV_DONTNEED);
	nr_used = 0;
}

static struct gpu_pc_row *rows(void)
{
	return agent_area(&agent.region->pc_rows);
}

static uint64_t hash(const struct gpu_pc_row *k)
{
	uint64_t h = arena_mix(k->cubin) ^ arena_mix(k->pc << 32 | k->function);

	return arena_mix(h ^ ((uint64_t)k->stall << 40 ^ (uint64_t)k->range << 32 ^ k->stack));
}

static bool same(const struct gpu_pc_row *a, const struct gpu_pc_row *b)
{
	return a->cubin == b->cubin && a->pc == b->pc && a->function == b->function &&
	       a->stall == b->stall && a->stack == b->stack && a->range == b->range;
}

static struct gpu_pc_row *add(uint32_t *slot, const struct gpu_pc_row *key)
{
	struct gpu_pc_row *row = &rows()[nr_used];

	*slot = ++nr_used;
	row->function = key->function;
	row->cubin = key->cubin;
	row->pc = key->pc;
	row->stall = key->stall;
	row->stack = key->stack;
	row->range = key->range;
	__atomic_store_n(&row->used, 1, __ATOMIC_RELEASE);
	return row;
}

struct gpu_pc_row *pc_rows_find(const struct gpu_pc_row *key)
{
	uint64_t h = hash(key);

	for (uint32_t i = 0; i < MAX_PROBES; i++) {
		uint32_t *slot = &slots[((h >> 32) + i) & (SLOTS - 1)];

		if (!*slot)
			return nr_used < AGENT_PC_ROWS ? add(slot, key) : NULL;
		if (same(&rows()[*slot - 1], key))
			return &rows()[*slot - 1];
	}
	return NULL;
}

struct gpu_pc_row *pc_rows_at(uint32_t i)
{
	return i < nr_used ? &rows()[i] : NULL;
}
