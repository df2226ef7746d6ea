/*
 * The table of sampled blocks that were not freed yet, in shared memory, and the filter in front of
 * it, which the stubs of free(3) and realloc(3) read. A bit of the filter is set while any sampled
 * block is behind it; how many are is counted in shared memory, which the stubs need not touch.
 *
 * A bit and its count cannot change at once. So the thread that takes the last block out marks the
 * count until it has cleared the bit, and a block that another thread, or a signal handler of the
 * same, adds behind that bit meanwhile stays out of the table: its free would be missed.
 */
#include "sampler/agent/alloc/slow_path.h"

#define BEING_FILLED 1
/* Of counts. */
#define BEING_CLEARED 254
#define STAYS 255 /* too many for a count: the bit stays set */

static __u32 place_of(__u64 address)
{
	return (__u32)(address * 0x9e3779b97f4a7c15ull >> 40) & (ALLOC_NR_LIVE - 1);
}

static __u8 *count_of(struct alloc_private *a, __u64 address)
{
	return &alloc_shared_of(a)->filter_counts[address >> 4 & (ALLOC_NR_FILTER - 1)];
}

static __u32 *word_of(struct alloc_private *a, __u64 address)
{
	return &a->filter[address >> ALLOC_FILTER_WORD_SHIFT & (ALLOC_NR_FILTER / 32 - 1)];
}

static __u32 bit_of(__u64 address)
{
	return 1u << (address >> 4 & 31);
}

/* The key of a tensor? Of these no free(3) asks. */
static int is_unfiltered(__u64 address)
{
	return address >> 47 != 0;
}

/* Returns whether the free of that block will be seen. */
static int filter_add(struct alloc_private *a, __u64 address)
{
	__u8 *count = count_of(a, address), was = __atomic_load_n(count, __ATOMIC_RELAXED), next;

	if (is_unfiltered(address))
		return 1;
	do {
		if (was == BEING_CLEARED)
			return 0;
		next = was + 1 < BEING_CLEARED ? (__u8)(was + 1) : STAYS;
	} while (!__atomic_compare_exchange_n(count, &was, next, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	__atomic_fetch_or(word_of(a, address), bit_of(address), __ATOMIC_ACQ_REL);
	return 1;
}

static void filter_remove(struct alloc_private *a, __u64 address)
{
	__u8 *count = count_of(a, address), was = __atomic_load_n(count, __ATOMIC_RELAXED), next;

	if (is_unfiltered(address))
		return;
	do {
		if (!was || was >= BEING_CLEARED)
			return;
		next = was > 1 ? (__u8)(was - 1) : BEING_CLEARED;
	} while (!__atomic_compare_exchange_n(count, &was, next, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	if (next != BEING_CLEARED)
		return;
	__atomic_fetch_and(word_of(a, address), ~bit_of(address), __ATOMIC_ACQ_REL);
	__atomic_store_n(count, 0, __ATOMIC_RELEASE);
}

/*
 * Is the block in the table already? Then it was freed where no hook saw it, unless it was handed
 * out within the same call.
 */
static int replace(struct alloc_shared *s, __u64 address, __u64 draw, __u64 since)
{
	for (__u32 i = 0; i < ALLOC_NR_PROBES; i++) {
		struct alloc_live *l = &s->live[(place_of(address) + i) & (ALLOC_NR_LIVE - 1)];

		if (__atomic_load_n(&l->address, __ATOMIC_RELAXED) != address)
			continue;
		if (__atomic_exchange_n(&l->draw, draw, __ATOMIC_RELAXED) <= since)
			__atomic_fetch_add(&s->nr_unseen_frees, 1, __ATOMIC_RELAXED);
		return 1;
	}
	return 0;
}

/* Returns whether there was room. */
static int insert(struct alloc_shared *s, __u64 address, __u64 draw)
{
	for (__u32 i = 0; i < ALLOC_NR_PROBES; i++) {
		struct alloc_live *l = &s->live[(place_of(address) + i) & (ALLOC_NR_LIVE - 1)];
		__u64 free = 0;

		if (!__atomic_compare_exchange_n(&l->address, &free, BEING_FILLED, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&l->draw, draw, __ATOMIC_RELAXED);
		__atomic_store_n(&l->address, address, __ATOMIC_RELEASE);
		return 1;
	}
	return 0;
}

void alloc_live_add(struct alloc_private *a, __u64 address, __u64 draw, __u64 since)
{
	struct alloc_shared *s = alloc_shared_of(a);

	if (replace(s, address, draw, since))
		return;
	if (filter_add(a, address)) {
		if (insert(s, address, draw))
			return;
		filter_remove(a, address);
	}
	__atomic_fetch_add(&s->nr_full, 1, __ATOMIC_RELAXED);
}

__u64 alloc_live_remove(struct alloc_private *a, __u64 address)
{
	struct alloc_shared *s = alloc_shared_of(a);

	if (a->magic != ALLOC_MAGIC)
		return 0;
	for (__u32 i = 0; address > BEING_FILLED && i < ALLOC_NR_PROBES; i++) {
		struct alloc_live *l = &s->live[(place_of(address) + i) & (ALLOC_NR_LIVE - 1)];
		__u64 is = address, draw;

		if (__atomic_load_n(&l->address, __ATOMIC_ACQUIRE) != address)
			continue;
		draw = __atomic_load_n(&l->draw, __ATOMIC_RELAXED);
		if (!__atomic_compare_exchange_n(&l->address, &is, 0, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		filter_remove(a, address);
		return draw;
	}
	return 0;
}
