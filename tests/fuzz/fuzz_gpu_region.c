/*
 * Reads any bytes as the memory that a target shares. Chance would hardly find a valid header, so
 * one is written first and the input over it: { offset in words, number of words, words }...
 */
#include <stdlib.h>
#include <string.h>

#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "gpu/collect.h"
#include "gpu/region/shared_region.h"

enum { SIZE = 96 << 10 };

static uint64_t place(struct gpu_area *area, uint64_t at, uint64_t nr, uint32_t entry_size)
{
	area->offset = at;
	area->size = nr * (entry_size ? entry_size : 1);
	area->entry_size = entry_size;
	area->used = entry_size ? nr : area->size;
	return at + area->size;
}

static void lay_out(unsigned char *memory)
{
	struct gpu_region *h = (struct gpu_region *)memory;
	uint64_t at = sizeof(*h);
	struct gpu_lane *lanes;

	memset(memory, 0, SIZE);
	h->magic = GPU_REGION_MAGIC;
	h->version = GPU_REGION_VERSION;
	h->header_size = sizeof(*h);
	h->region_bytes = SIZE;
	at = place(&h->strings, at, 2048, 0);
	at = place(&h->stacks, at, 2048, 0);
	at = place(&h->ranges, at, 16, sizeof(struct gpu_range_node));
	at = place(&h->folds, at, 32, sizeof(struct gpu_fold));
	at = place(&h->apis, at, 64, sizeof(struct gpu_api));
	at = place(&h->devices, at, 4, sizeof(struct gpu_device));
	at = place(&h->estimates, at, 4, sizeof(struct gpu_estimate));
	at = place(&h->flops, at, 4, sizeof(struct gpu_flops));
	at = place(&h->pc_rows, at, 16, sizeof(struct gpu_pc_row));
	at = place(&h->lanes, at, 2, sizeof(struct gpu_lane));
	lanes = (struct gpu_lane *)(memory + h->lanes.offset);
	h->nr_lanes = 2;
	for (int i = 0; i < 2; i++, at += 4096) {
		lanes[i].offset = at;
		lanes[i].size = 4096;
		lanes[i].flags = i ? GPU_LANE_ACTIVITY : 0;
	}
}

static void overwrite(unsigned char *memory, const uint8_t *data, size_t size)
{
	while (size >= 3) {
		size_t at = (size_t)(data[0] | data[1] << 8) * 8 % SIZE, n = data[2] * 8u;

		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		if (n > SIZE - at)
			n = SIZE - at;
		memcpy(memory + at, data, n);
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char *memory;
	uint64_t run_room = 1 << 20;
	struct gpu_collect_opts opts = { .pid = 1 << 30, .run_room = &run_room };
	struct shared_region *region;
	size_t half = size / 2;

	if (!memory)
		memory = aligned_alloc(4096, SIZE);
	lay_out(memory);
	overwrite(memory, data, half);
	if (!shared_region_adopt(memory, SIZE, &region)) {
		struct profile *p = profile_new();
		struct sink *sink = profile_sink_new(p);
		struct gpu_collect *c = gpu_collect_new(region, &opts, sink);

		gpu_collect_drain(c, 1000);
		overwrite(memory, data + half, size - half); /* the target writes again */
		gpu_collect_drain(c, 5000000000);
		gpu_collect_finish(c, 6000000000);
		gpu_collect_free(c);
		profile_sink_free(sink);
		profile_free(p);
	}
	return 0;
}
