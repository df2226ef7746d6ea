/*
 * An open-addressing table of entry numbers. What finds no entry goes into the overflow entry of
 * its kind (entries 0 to 15): totals stay exact when detail is lost.
 */
#include "gpu/agent/base/fold.h"

#include <errno.h>
#include <sys/mman.h>

#define SLOTS (2 * AGENT_FOLDS)
#define FIRST 16u /* entries below are the overflow, by kind */
#define MAX_PROBES 64u

static uint32_t *slots; /* entry number, 0 = free */
static uint32_t nr_used = FIRST;

int fold_init(void)
{
	slots = agent_map(SLOTS * sizeof(*slots));
	nr_used = FIRST;
	return slots ? 0 : -ENOMEM;
}

void fold_forget(void)
{
	madvise(slots, SLOTS * sizeof(*slots), MADV_DONTNEED);
	nr_used = FIRST;
}

static bool same(const struct gpu_fold *a, const struct gpu_fold *b)
{
	return a->kind == b->kind && a->subkind == b->subkind && a->device == b->device &&
	       a->stack == b->stack && a->name == b->name && a->range == b->range &&
	       a->flops == b->flops;
}

static uint32_t hash(const struct gpu_fold *k)
{
	uint64_t h = (uint64_t)k->stack << 32 | k->name;

	h ^= (uint64_t)k->flops * 0xd6e8feb86659fd93ull;
	h = (h ^ (uint64_t)k->range << 20 ^ (uint64_t)k->device << 8 ^ k->kind ^ k->subkind * 31u) *
	    0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 40);
}

static struct gpu_fold *overflow(struct gpu_fold *folds, const struct gpu_fold *key)
{
	struct gpu_fold *f = &folds[key->kind & (FIRST - 1)];

	agent_count(GPU_COUNT_FOLD_FULL, 1);
	f->kind = key->kind;
	return f;
}

static struct gpu_fold *find(const struct gpu_fold *key)
{
	struct gpu_fold *folds = agent_area(&agent.region->folds);
	uint32_t at = hash(key);

	for (uint32_t i = 0; i < MAX_PROBES; i++) {
		uint32_t *slot = &slots[(at + i) & (SLOTS - 1)];
		struct gpu_fold *f;

		if (*slot && same(&folds[*slot], key))
			return &folds[*slot];
		if (*slot)
			continue;
		if (nr_used == AGENT_FOLDS)
			break;
		f = &folds[nr_used];
		*slot = nr_used++;
		f->subkind = key->subkind;
		f->device = key->device;
		f->stack = key->stack;
		f->name = key->name;
		f->range = key->range;
		f->flops = key->flops;
		__atomic_store_n(&f->kind, key->kind, __ATOMIC_RELEASE);
		return f;
	}
	return overflow(folds, key);
}

void fold_add(const struct gpu_fold *key, uint64_t ns, uint64_t bytes)
{
	struct gpu_fold *f = find(key);
	uint64_t blocks = (uint64_t)key->grid[0] * key->grid[1] * key->grid[2];

	if (!f->count || ns < f->min_ns)
		f->min_ns = ns;
	if (ns > f->max_ns)
		f->max_ns = ns;
	if (!f->count || blocks < f->min_blocks)
		f->min_blocks = blocks;
	if (blocks > f->max_blocks)
		f->max_blocks = blocks;
	f->count++;
	f->total_ns += ns;
	f->bytes += bytes;
	f->registers = key->registers;
	f->local_bytes = key->local_bytes;
	f->shared_static = key->shared_static;
	f->shared_dynamic = key->shared_dynamic;
	for (int i = 0; i < 3; i++) {
		f->grid[i] = key->grid[i];
		f->block[i] = key->block[i];
	}
}
