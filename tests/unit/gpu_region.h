/*
 * A hand-made region like the one that libsprof-gpu.so shares: small, in ordinary memory, with
 * every table, two rings of calls and one ring of GPU activities.
 */
#ifndef SPROF_TESTS_GPU_REGION_H
#define SPROF_TESTS_GPU_REGION_H

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "gpu/region/shared_region.h"

enum {
	TEST_REGION_BYTES = 2 << 20,
	TEST_ARENA = 64 << 10,
	TEST_ENTRIES = 1024,
	TEST_ESTIMATES = 16,
	TEST_FLOPS = 16,
	TEST_PC_ROWS = 64,
	TEST_LANES = 3, /* the last is for activities */
	TEST_RING = 64 << 10,
};

struct test_region {
	struct gpu_region *header;
	size_t size;
	struct shared_region *shared;
	uint32_t nr_folds;
};

static inline void *test_area(const struct test_region *t, const struct gpu_area *area)
{
	return (char *)t->header + area->offset;
}

static inline uint64_t test_place(struct gpu_area *area, uint64_t at, uint64_t nr, uint32_t entry)
{
	*area = (struct gpu_area){
		.offset = at,
		.size = nr * (entry ? entry : 1),
		.entry_size = entry,
	};
	return at + area->size;
}

/* Makes the tables and rings in memory that is zeroed. */
static inline void test_region_lay_out(struct test_region *t, struct gpu_region *h)
{
	uint64_t at = sizeof(*h);
	struct gpu_lane *lanes;

	*t = (struct test_region){ .header = h, .size = TEST_REGION_BYTES, .nr_folds = 16 };
	h->magic = GPU_REGION_MAGIC;
	h->version = GPU_REGION_VERSION;
	h->header_size = sizeof(*h);
	h->region_bytes = TEST_REGION_BYTES;
	h->pid = 4242;
	at = test_place(&h->strings, at, TEST_ARENA, 0);
	at = test_place(&h->stacks, at, TEST_ARENA, 0);
	at = test_place(&h->ranges, at, TEST_ENTRIES, sizeof(struct gpu_range_node));
	at = test_place(&h->folds, at, TEST_ENTRIES, sizeof(struct gpu_fold));
	at = test_place(&h->apis, at, 2 * TEST_LANES * GPU_MAX_CBIDS, sizeof(struct gpu_api));
	at = test_place(&h->devices, at, GPU_MAX_DEVICES, sizeof(struct gpu_device));
	at = test_place(&h->estimates, at, TEST_ESTIMATES, sizeof(struct gpu_estimate));
	at = test_place(&h->flops, at, TEST_FLOPS, sizeof(struct gpu_flops));
	at = test_place(&h->pc_rows, at, TEST_PC_ROWS, sizeof(struct gpu_pc_row));
	at = test_place(&h->lanes, at, TEST_LANES, sizeof(struct gpu_lane));
	h->strings.used = 16;
	h->stacks.used = 8;
	h->ranges.used = 1;
	h->folds.used = TEST_ENTRIES;
	h->apis.used = 2 * TEST_LANES * GPU_MAX_CBIDS;
	h->devices.used = GPU_MAX_DEVICES;
	h->estimates.used = TEST_ESTIMATES;
	h->flops.used = TEST_FLOPS;
	h->pc_rows.used = TEST_PC_ROWS;
	h->lanes.used = h->nr_lanes = TEST_LANES;
	lanes = test_area(t, &h->lanes);
	for (int i = 0; i < TEST_LANES; i++, at += TEST_RING) {
		lanes[i].offset = at;
		lanes[i].size = TEST_RING;
		lanes[i].flags = i == TEST_LANES - 1 ? GPU_LANE_ACTIVITY : 0;
	}
	assert_true(at <= TEST_REGION_BYTES);
}

static inline void test_region_init(struct test_region *t)
{
	struct gpu_region *h = aligned_alloc(4096, TEST_REGION_BYTES);

	memset(h, 0, TEST_REGION_BYTES);
	test_region_lay_out(t, h);
}

static inline void test_region_open(struct test_region *t)
{
	assert_int_equal(shared_region_adopt(t->header, t->size, &t->shared), 0);
}

/* Frees the memory only: the collector closes the shared region. */
static inline void test_region_fini(struct test_region *t)
{
	free(t->header);
}

static inline uint32_t test_string(struct test_region *t, const char *s)
{
	struct gpu_area *a = &t->header->strings;
	struct gpu_string *at = (struct gpu_string *)((char *)test_area(t, a) + a->used);
	uint32_t id = (uint32_t)(a->used / 8);

	at->length = (uint32_t)strlen(s);
	memcpy(at->bytes, s, at->length + 1);
	a->used += (sizeof(*at) + at->length + 8) / 8 * 8;
	assert_true(a->used <= a->size);
	return id;
}

/* Frames leaf first. */
static inline uint32_t test_stack(struct test_region *t, const uint64_t *frames, uint16_t nr,
				  enum walk_end end)
{
	struct gpu_area *a = &t->header->stacks;
	struct gpu_stack *at = (struct gpu_stack *)((char *)test_area(t, a) + a->used);
	uint32_t id = (uint32_t)(a->used / 8);

	at->nr = nr;
	at->end = (uint8_t)end;
	memcpy(at->frames, frames, nr * sizeof(*frames));
	a->used += sizeof(*at) + nr * sizeof(*frames);
	assert_true(a->used <= a->size);
	return id;
}

static inline struct gpu_range_node *test_range_node(struct test_region *t, uint32_t id)
{
	return (struct gpu_range_node *)test_area(t, &t->header->ranges) + id;
}

static inline uint32_t test_range(struct test_region *t, uint32_t parent, const char *name,
				  const char *domain)
{
	uint32_t id = (uint32_t)t->header->ranges.used++;

	*test_range_node(t, id) = (struct gpu_range_node){
		.parent = parent,
		.name = test_string(t, name),
		.domain = *domain ? test_string(t, domain) : 0,
		.depth = parent ? test_range_node(t, parent)->depth + 1 : 1,
	};
	return id;
}

/* Returns the entry with this key, and makes it if it is missing. */
static inline struct gpu_fold *test_fold(struct test_region *t, const struct gpu_fold *key)
{
	struct gpu_fold *folds = test_area(t, &t->header->folds);

	for (uint32_t i = 16; i < t->nr_folds; i++)
		if (folds[i].kind == key->kind && folds[i].subkind == key->subkind &&
		    folds[i].device == key->device && folds[i].stack == key->stack &&
		    folds[i].name == key->name && folds[i].range == key->range &&
		    folds[i].flops == key->flops)
			return &folds[i];
	assert_true(t->nr_folds < TEST_ENTRIES);
	folds[t->nr_folds] = *key;
	return &folds[t->nr_folds++];
}

/* Does what the agent does for each activity. */
static inline void test_fold_add(struct test_region *t, const struct gpu_fold *key, uint64_t ns,
				 uint64_t bytes)
{
	struct gpu_fold *f = test_fold(t, key);

	if (!f->count || ns < f->min_ns)
		f->min_ns = ns;
	if (ns > f->max_ns)
		f->max_ns = ns;
	f->count++;
	f->total_ns += ns;
	f->bytes += bytes;
}

/* Returns false if the ring is full. */
static inline bool test_emit(struct test_region *t, uint32_t lane, const void *record)
{
	struct gpu_lane *l = (struct gpu_lane *)test_area(t, &t->header->lanes) + lane;
	uint64_t size = ((const struct gpu_record *)record)->size;
	uint64_t to_end = l->size - (l->head & (l->size - 1));
	uint64_t pad = to_end < size ? to_end : 0;
	char *data = (char *)t->header + l->offset;

	if (l->size - (l->head - l->tail) < pad + size) {
		l->dropped++;
		return false;
	}
	if (pad) {
		struct gpu_record filler = { GPU_RECORD_PAD, (uint16_t)pad, 0 };

		memcpy(data + (l->head & (l->size - 1)), &filler, sizeof(filler));
	}
	memcpy(data + ((l->head + pad) & (l->size - 1)), record, size);
	l->head += pad + size;
	return true;
}

#endif
