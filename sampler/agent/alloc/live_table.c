/*
 * The table of sampled blocks that were not freed yet, in shared memory, and the filter in front of
 * it, which the stubs of free(3) and realloc(3) read: a byte for each 16 bytes of address modulo
 * 1 MiB counts the sampled blocks there. 255 stays for ever, so a count never falls short.
 */
#include "sampler/agent/alloc/slow_path.h"

#define BEING_FILLED 1

static __u32 place_of(__u64 address)
{
	return (__u32)(address * 0x9e3779b97f4a7c15ull >> 40) & (ALLOC_NR_LIVE - 1);
}

static __u8 *filter_of(struct alloc_private *a, __u64 address)
{
	return &a->filter[address >> 4 & (ALLOC_NR_FILTER - 1)];
}

static void filter_change(struct alloc_private *a, __u64 address, int by)
{
	__u8 *filter = filter_of(a, address), was = __atomic_load_n(filter, __ATOMIC_RELAXED);

	if (address >> 47) /* the key of a tensor: none of free(3) looks for it */
		return;
	do {
		if (was == 255 || (by < 0 && !was))
			return;
	} while (!__atomic_compare_exchange_n(filter, &was, (__u8)(was + by), 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
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

void alloc_live_add(struct alloc_private *a, __u64 address, __u64 draw, __u64 since)
{
	struct alloc_shared *s = alloc_shared_of(a);

	if (replace(s, address, draw, since))
		return;
	for (__u32 i = 0; i < ALLOC_NR_PROBES; i++) {
		struct alloc_live *l = &s->live[(place_of(address) + i) & (ALLOC_NR_LIVE - 1)];
		__u64 free = 0;

		if (!__atomic_compare_exchange_n(&l->address, &free, BEING_FILLED, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&l->draw, draw, __ATOMIC_RELAXED);
		__atomic_store_n(&l->address, address, __ATOMIC_RELEASE);
		filter_change(a, address, 1);
		return;
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
		filter_change(a, address, -1);
		return draw;
	}
	return 0;
}
