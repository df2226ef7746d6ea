/*
 * A record is reserved by advancing `head` and published by storing its first 8 bytes last. A lane
 * with one writer needs no compare-and-exchange and no locked adds.
 */
#include "gpu/agent/base/lane.h"

#include <string.h>

#include "gpu/agent/base/arena.h"

void lane_open(uint32_t index, struct lane *ret)
{
	struct gpu_region *r = agent.region;
	struct gpu_lane *shared = (struct gpu_lane *)agent_area(&r->lanes) + index;

	ret->shared = shared;
	ret->data = (char *)r + shared->offset;
	ret->mask = shared->size - 1;
	ret->alone = !(shared->flags & GPU_LANE_SHARED);
	ret->apis = (struct gpu_api *)agent_area(&r->apis) + index * 2ull * GPU_MAX_CBIDS;
}

/* True if `size` bytes fit in one piece; *ret_pad is what is skipped at the end of the ring. */
static bool fits(const struct gpu_lane *l, uint64_t head, uint64_t size, uint64_t *ret_pad)
{
	uint64_t tail = __atomic_load_n(&l->tail, __ATOMIC_ACQUIRE);
	uint64_t to_end = l->size - (head & (l->size - 1));

	*ret_pad = to_end < size ? to_end : 0;
	/* a bad tail from the recorder must not make us write where it reads */
	return head - tail <= l->size && l->size - (head - tail) >= *ret_pad + size;
}

static bool reserve(const struct lane *lane, uint64_t size, uint64_t *ret_at, uint64_t *ret_pad)
{
	struct gpu_lane *l = lane->shared;
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED);

	if (lane->alone) {
		if (!fits(l, head, size, ret_pad))
			return false;
		*ret_at = head;
		__atomic_store_n(&l->head, head + *ret_pad + size, __ATOMIC_RELEASE);
		return true;
	}
	do
		if (!fits(l, head, size, ret_pad))
			return false;
	while (!__atomic_compare_exchange_n(&l->head, &head, head + *ret_pad + size, true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	*ret_at = head;
	return true;
}

static void store_first(char *at, uint16_t type, uint64_t size, uint32_t tid)
{
	struct gpu_record head = { .type = type, .size = (uint16_t)size, .tid = tid };
	uint64_t word;

	memcpy(&word, &head, sizeof(word));
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELEASE);
}

void *lane_begin(const struct lane *lane, uint16_t size)
{
	uint64_t at, pad;

	if (!agent_wants(GPU_WANT_RECORDS) || !lane->shared)
		return NULL;
	if (!reserve(lane, size, &at, &pad)) {
		__atomic_fetch_add(&lane->shared->dropped, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	if (pad)
		store_first(lane->data + (at & lane->mask), GPU_RECORD_PAD, pad, 0);
	return lane->data + ((at + pad) & lane->mask);
}

void lane_end(void *record, uint16_t type, uint16_t size, uint32_t tid)
{
	store_first(record, type, size, tid);
}

void lane_emit(const struct lane *lane, const struct gpu_record *record)
{
	char *to = lane_begin(lane, record->size);

	if (!to)
		return;
	memcpy(to + sizeof(*record), record + 1, record->size - sizeof(*record));
	lane_end(to, record->type, record->size, record->tid);
}

static void add(uint64_t *to, uint64_t n, bool alone)
{
	if (alone)
		__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

struct gpu_api *lane_api(const struct lane *lane, uint32_t domain, uint32_t cbid, const char *name,
			 uint32_t api_class)
{
	struct gpu_api *api;

	if (cbid >= GPU_MAX_CBIDS)
		cbid = 0;
	api = &lane->apis[domain * GPU_MAX_CBIDS + cbid];
	if (!api->name && cbid) {
		api->api_class = api_class;
		__atomic_store_n(&api->name, arena_cstring(name), __ATOMIC_RELEASE);
	}
	return api;
}

void lane_count_call(const struct lane *lane, struct gpu_api *api, uint64_t ns)
{
	uint64_t max;

	add(&api->count, 1, lane->alone);
	add(&api->total_ns, ns, lane->alone);
	max = __atomic_load_n(&api->max_ns, __ATOMIC_RELAXED);
	while (ns > max && !__atomic_compare_exchange_n(&api->max_ns, &max, ns, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
