/*
 * Areas and lanes are copied and checked when the region is opened; their later changes are
 * ignored. Ids and sizes are checked on the copy of each entry.
 */
#include "gpu/region/shared_region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/untrusted/shared_memory.h"

#define MAX_REGION (128u << 20) /* bytes; the agent makes 48 MiB */
#define MAX_LANES 65536u

struct lane {
	uint64_t offset, size, tail;
	bool activity, broken;
};

struct shared_region {
	unsigned char *base;
	size_t size;
	bool mapped;
	/* Copies from when the region was opened: the agent never changes them later. */
	struct gpu_area strings, stacks, ranges, folds, apis, devices, lanes, estimates;
	struct gpu_area flops, pc_rows;
	struct lane *rings;
	uint32_t nr_rings;
};

static const struct gpu_region *header_of(const struct shared_region *r)
{
	return (const struct gpu_region *)r->base;
}

/*
 * True if the area lies in the region and its entries have at least `entry_size` bytes (0: an
 * arena).
 */
static bool area_is_good(const struct shared_region *r, const struct gpu_area *a, size_t entry_size)
{
	return a->offset % 8 == 0 && a->offset <= r->size && a->size <= r->size - a->offset &&
	       (!entry_size || (a->entry_size >= entry_size && a->entry_size % 8 == 0));
}

static bool take_areas(struct shared_region *r)
{
	const struct gpu_region *h = header_of(r);

	r->strings = h->strings;
	r->stacks = h->stacks;
	r->ranges = h->ranges;
	r->folds = h->folds;
	r->apis = h->apis;
	r->devices = h->devices;
	r->estimates = h->estimates;
	r->flops = h->flops;
	r->pc_rows = h->pc_rows;
	r->lanes = h->lanes;
	return area_is_good(r, &r->strings, 0) && area_is_good(r, &r->stacks, 0) &&
	       area_is_good(r, &r->ranges, sizeof(struct gpu_range_node)) &&
	       area_is_good(r, &r->folds, sizeof(struct gpu_fold)) &&
	       area_is_good(r, &r->apis, sizeof(struct gpu_api)) &&
	       area_is_good(r, &r->devices, sizeof(struct gpu_device)) &&
	       area_is_good(r, &r->estimates, sizeof(struct gpu_estimate)) &&
	       area_is_good(r, &r->flops, sizeof(struct gpu_flops)) &&
	       area_is_good(r, &r->pc_rows, sizeof(struct gpu_pc_row)) &&
	       area_is_good(r, &r->lanes, sizeof(struct gpu_lane));
}

static struct gpu_lane *lane_of(const struct shared_region *r, uint32_t i)
{
	return (struct gpu_lane *)(r->base + r->lanes.offset + (size_t)i * r->lanes.entry_size);
}

static bool take_lanes(struct shared_region *r)
{
	uint32_t nr = header_of(r)->nr_lanes;
	uint64_t all = 0;

	if (nr > MAX_LANES || nr > r->lanes.size / r->lanes.entry_size)
		return false;
	r->rings = xcalloc(nr + 1u, sizeof(*r->rings));
	r->nr_rings = nr;
	for (uint32_t i = 0; i < nr; i++) {
		const struct gpu_lane *l = lane_of(r, i);
		struct lane lane = {
			.offset = l->offset,
			.size = l->size,
			.tail = __atomic_load_n(&l->tail, __ATOMIC_RELAXED),
			.activity = l->flags & GPU_LANE_ACTIVITY,
		};

		if (lane.size < GPU_MAX_RECORD || (lane.size & (lane.size - 1)) ||
		    lane.offset % 8 || lane.offset > r->size || lane.size > r->size - lane.offset ||
		    lane.tail % 8)
			return false;
		/* Rings that overlap would be more to read than there is memory. */
		all += lane.size;
		if (all > r->size)
			return false;
		r->rings[i] = lane;
	}
	return true;
}

static bool check_header(struct shared_region *r)
{
	const struct gpu_region *h = header_of(r);

	return r->size >= sizeof(*h) && h->magic == GPU_REGION_MAGIC &&
	       h->version == GPU_REGION_VERSION && h->header_size >= sizeof(*h) &&
	       h->region_bytes <= r->size && take_areas(r) && take_lanes(r);
}

int shared_region_adopt(void *memory, size_t size, struct shared_region **ret_region)
{
	struct shared_region *r = xcalloc(1, sizeof(*r));

	r->base = memory;
	r->size = size;
	if (!check_header(r)) {
		shared_region_close(r);
		return -EPROTO;
	}
	*ret_region = r;
	return 0;
}

int shared_region_open(int memfd, struct shared_region **ret_region)
{
	struct shared_region *r;
	size_t size;
	void *base;
	int err = shared_memory_map(memfd, sizeof(struct gpu_region), MAX_REGION, &size, &base);

	if (err)
		return err;
	err = shared_region_adopt(base, size, &r);
	if (err) {
		shared_memory_unmap(base, size);
		return err;
	}
	r->mapped = true;
	*ret_region = r;
	return 0;
}

bool shared_region_is_lost(const struct shared_region *region)
{
	return region->mapped && shared_memory_is_lost(region->base);
}

struct gpu_region *shared_region_written_header(const struct shared_region *region)
{
	return (struct gpu_region *)region->base;
}

void shared_region_close(struct shared_region *region)
{
	if (!region)
		return;
	if (region->mapped)
		shared_memory_unmap(region->base, region->size);
	free(region->rings);
	free(region);
}

void shared_region_header(const struct shared_region *region, struct gpu_region *ret_header)
{
	memcpy(ret_header, region->base, sizeof(*ret_header));
}

/* ---- arenas: an id is an offset in units of 8 bytes */
/* The head of an entry; *ret_left is how many bytes follow it. NULL outside the arena. */
static const unsigned char *entry_of(const struct shared_region *r, const struct gpu_area *arena,
				     uint32_t id, size_t head_size, uint64_t *ret_left)
{
	uint64_t at = (uint64_t)id * 8;

	if (!id || at >= arena->size || arena->size - at < head_size)
		return NULL;
	*ret_left = arena->size - at - head_size;
	return r->base + arena->offset + at;
}

bool shared_region_string(const struct shared_region *region, uint32_t id, struct buffer *b)
{
	struct gpu_string head;
	uint64_t left;
	const unsigned char *at = entry_of(region, &region->strings, id, sizeof(head), &left);

	b->size = 0;
	if (!at)
		return false;
	memcpy(&head, at, sizeof(head));
	if (head.length > left || head.length > GPU_MAX_STRING)
		return false;
	buffer_add(b, at + sizeof(head), head.length);
	return true;
}

bool shared_region_stack(const struct shared_region *region, uint32_t id, uint64_t *frames,
			 uint32_t *ret_nr, uint8_t *ret_end)
{
	struct gpu_stack head;
	uint64_t left;
	const unsigned char *at = entry_of(region, &region->stacks, id, sizeof(head), &left);

	if (!at)
		return false;
	memcpy(&head, at, sizeof(head));
	if (!head.nr || head.nr > GPU_MAX_STACK || head.nr * sizeof(*frames) > left)
		return false;
	memcpy(frames, at + sizeof(head), head.nr * sizeof(*frames));
	*ret_nr = head.nr;
	*ret_end = head.end;
	return true;
}

uint64_t shared_region_stacks_used(const struct shared_region *region)
{
	uint64_t used = __atomic_load_n(&header_of(region)->stacks.used, __ATOMIC_ACQUIRE);

	return used < region->stacks.size ? used : region->stacks.size;
}

uint32_t shared_region_next_stack(const struct shared_region *region, uint32_t id)
{
	struct gpu_stack head;
	uint64_t left;
	const unsigned char *at;

	if (!id)
		return 1; /* stack 0 is an empty stack of 8 bytes */
	at = entry_of(region, &region->stacks, id, sizeof(head), &left);
	if (!at)
		return UINT32_MAX;
	memcpy(&head, at, sizeof(head));
	return id + 1 + head.nr;
}

static uint32_t nr_entries(const struct gpu_area *area, const uint64_t *used)
{
	uint64_t nr = area->size / area->entry_size, now = __atomic_load_n(used, __ATOMIC_ACQUIRE);

	if (now < nr)
		nr = now;
	return nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
}

static const void *entry_at(const struct shared_region *r, const struct gpu_area *area, uint32_t i)
{
	if (i >= area->size / area->entry_size)
		return NULL;
	return r->base + area->offset + (size_t)i * area->entry_size;
}

uint32_t shared_region_nr_ranges(const struct shared_region *region)
{
	return nr_entries(&region->ranges, &header_of(region)->ranges.used);
}

bool shared_region_range(const struct shared_region *region, uint32_t id,
			 struct gpu_range_node *ret_node)
{
	const struct gpu_range_node *node = entry_at(region, &region->ranges, id);

	if (!node || !id || id >= shared_region_nr_ranges(region))
		return false;
	memcpy(ret_node, node, sizeof(*ret_node));
	/* Parents come first, so every path ends. */
	return ret_node->parent < id;
}

uint32_t shared_region_nr_folds(const struct shared_region *region)
{
	return nr_entries(&region->folds, &header_of(region)->folds.used);
}

bool shared_region_fold(const struct shared_region *region, uint32_t i, struct gpu_fold *ret_fold)
{
	const struct gpu_fold *fold = entry_at(region, &region->folds, i);

	if (!fold || !__atomic_load_n(&fold->kind, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret_fold, fold, sizeof(*ret_fold));
	return ret_fold->count != 0;
}

uint32_t shared_region_nr_estimates(const struct shared_region *region)
{
	return nr_entries(&region->estimates, &header_of(region)->estimates.used);
}

bool shared_region_estimate(const struct shared_region *region, uint32_t i,
			    struct gpu_estimate *ret_estimate)
{
	const struct gpu_estimate *estimate = entry_at(region, &region->estimates, i);

	if (!estimate || !__atomic_load_n(&estimate->kind, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret_estimate, estimate, sizeof(*ret_estimate));
	return ret_estimate->count != 0;
}

uint32_t shared_region_nr_flops(const struct shared_region *region)
{
	return nr_entries(&region->flops, &header_of(region)->flops.used);
}

bool shared_region_flops(const struct shared_region *region, uint32_t i,
			 struct gpu_flops *ret_flops)
{
	const struct gpu_flops *flops = entry_at(region, &region->flops, i);

	if (!flops || !__atomic_load_n(&flops->known, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret_flops, flops, sizeof(*ret_flops));
	return true;
}

uint32_t shared_region_nr_pc_rows(const struct shared_region *region)
{
	return nr_entries(&region->pc_rows, &header_of(region)->pc_rows.used);
}

bool shared_region_pc_row(const struct shared_region *region, uint32_t i,
			  struct gpu_pc_row *ret_row)
{
	const struct gpu_pc_row *row = entry_at(region, &region->pc_rows, i);
	uint32_t line_state;

	if (!row || !__atomic_load_n(&row->used, __ATOMIC_ACQUIRE))
		return false;
	line_state = __atomic_load_n(&row->line_state, __ATOMIC_ACQUIRE);
	memcpy(ret_row, row, sizeof(*ret_row));
	ret_row->line_state = line_state; /* the line was copied after it */
	return ret_row->samples != 0;
}

uint32_t shared_region_nr_apis(const struct shared_region *region)
{
	return nr_entries(&region->apis, &header_of(region)->apis.used);
}

bool shared_region_api(const struct shared_region *region, uint32_t i, struct gpu_api *ret_api)
{
	const struct gpu_api *api = entry_at(region, &region->apis, i);

	if (!api)
		return false;
	memcpy(ret_api, api, sizeof(*ret_api));
	return ret_api->count != 0;
}

bool shared_region_device(const struct shared_region *region, uint32_t i,
			  struct gpu_device *ret_device)
{
	const struct gpu_device *device = entry_at(region, &region->devices, i);

	if (!device || !__atomic_load_n(&device->known, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret_device, device, sizeof(*ret_device));
	return true;
}

/* Takes one record; false if the next one is unfinished. */
static bool take_record(struct shared_region *r, uint32_t i, uint64_t head,
			union gpu_any_record *ret_record)
{
	struct lane *lane = &r->rings[i];
	uint64_t place = lane->tail & (lane->size - 1);
	unsigned char *at = r->base + lane->offset + place;
	union {
		uint64_t word;
		struct gpu_record head;
	} first = { .word = __atomic_load_n((uint64_t *)at, __ATOMIC_ACQUIRE) };
	uint64_t size = first.head.size;

	if (!first.head.type)
		return false;
	if (size < sizeof(first.head) || size % 8 || size > GPU_MAX_RECORD ||
	    size > lane->size - place || size > head - lane->tail) {
		lane->broken = true;
		return false;
	}
	memset(ret_record, 0, sizeof(*ret_record));
	memcpy(ret_record, at, size);
	ret_record->head = first.head;
	memset(at, 0, size);
	lane->tail += size;
	__atomic_store_n(&lane_of(r, i)->tail, lane->tail, __ATOMIC_RELEASE);
	return true;
}

static size_t drain_lane(struct shared_region *r, uint32_t i, shared_region_record *take,
			 void *context)
{
	uint64_t head = __atomic_load_n(&lane_of(r, i)->head, __ATOMIC_ACQUIRE);
	struct lane *lane = &r->rings[i];
	union gpu_any_record record;
	size_t nr = 0;

	if (lane->broken || head - lane->tail > lane->size || head % 8) {
		lane->broken = true;
		return 0;
	}
	while (lane->tail != head && take_record(r, i, head, &record)) {
		if (record.head.type == GPU_RECORD_PAD)
			continue;
		take(context, &record);
		nr++;
	}
	return nr;
}

size_t shared_region_drain(struct shared_region *region, shared_region_record *take, void *context)
{
	size_t nr = 0;

	for (int activity = 0; activity <= 1; activity++)
		for (uint32_t i = 0; i < region->nr_rings; i++)
			if (region->rings[i].activity == activity)
				nr += drain_lane(region, i, take, context);
	return nr;
}

uint64_t shared_region_nr_dropped(const struct shared_region *region)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < region->nr_rings; i++)
		nr += __atomic_load_n(&lane_of(region, i)->dropped, __ATOMIC_RELAXED);
	return nr;
}

uint32_t shared_region_nr_broken(const struct shared_region *region)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < region->nr_rings; i++)
		nr += region->rings[i].broken;
	return nr;
}

uint64_t shared_region_nr_activities_lost(const struct shared_region *region)
{
	static const enum gpu_counter counters[] = {
		GPU_COUNT_CUPTI_DROPPED,
		GPU_COUNT_DISCARDED,
		GPU_COUNT_BAD_RECORD,
	};
	uint64_t nr = 0;

	for (uint32_t i = 0; i < region->nr_rings; i++)
		if (region->rings[i].activity)
			nr += __atomic_load_n(&lane_of(region, i)->dropped, __ATOMIC_RELAXED);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		nr += __atomic_load_n(&header_of(region)->counters[counters[i]], __ATOMIC_RELAXED);
	return nr;
}
