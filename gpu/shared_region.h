/*
 * The recorder's side of the memory that it shares with libsprof-gpu.so in a target: the contract is
 * gpu/agent/base/region.h. The target may write anything, at any time, from any thread. So everything is
 * copied out before it is looked at, and no number from in there is used before it was checked.
 */
#ifndef SPROF_SHARED_REGION_H
#define SPROF_SHARED_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"

struct buffer;
struct shared_region;

/*
 * Maps the memory behind a memfd; the descriptor stays the caller's. 0, or -EPROTO where it is not a
 * region of this version, -EPERM where the target could shrink it under our feet (it must allow
 * sealing), or what the kernel said. Not reported.
 */
int shared_region_open(int memfd, struct shared_region **ret_region);
/* The same for memory that is there already, `size` bytes, 8-aligned; it stays the caller's. */
int shared_region_adopt(void *memory, size_t size, struct shared_region **ret_region);
void shared_region_close(struct shared_region *region);

/* A copy of the header, as it is now. */
void shared_region_header(const struct shared_region *region, struct gpu_region *ret_header);

/* False, with `b` empty, where there is no such string. */
bool shared_region_string(const struct shared_region *region, uint32_t id, struct buffer *b);
/* Copies at most GPU_MAX_STACK frames, leaf first. False where there is no such stack, or it is empty. */
bool shared_region_stack(const struct shared_region *region, uint32_t id, uint64_t *frames,
			 uint32_t *ret_nr, enum gpu_stack_end *ret_end);

/* Bytes of the arena of stacks that are in use: it only grows, and stacks lie in it one after another. */
uint64_t shared_region_stacks_used(const struct shared_region *region);
/* The id of the stack after this one; 0: the first. */
uint32_t shared_region_next_stack(const struct shared_region *region, uint32_t id);

/* How many entries there are, and a copy of one; false where it is not in use. */
uint32_t shared_region_nr_ranges(const struct shared_region *region);
bool shared_region_range(const struct shared_region *region, uint32_t id,
			 struct gpu_range_node *ret_node);
uint32_t shared_region_nr_folds(const struct shared_region *region);
bool shared_region_fold(const struct shared_region *region, uint32_t i, struct gpu_fold *ret_fold);
uint32_t shared_region_nr_apis(const struct shared_region *region);
bool shared_region_api(const struct shared_region *region, uint32_t i, struct gpu_api *ret_api);
uint32_t shared_region_nr_devices(const struct shared_region *region);
bool shared_region_device(const struct shared_region *region, uint32_t i,
			  struct gpu_device *ret_device);

/* A record, and the bytes behind it up to GPU_MAX_RECORD that it does not have as zeros. */
union gpu_any_record {
	struct gpu_record head;
	struct gpu_work work; /* of those that have one */
	struct gpu_rec_api api;
	struct gpu_rec_kernel kernel;
	struct gpu_rec_memcpy copy;
	struct gpu_rec_memset set;
	struct gpu_rec_sync sync;
	struct gpu_rec_overhead overhead;
	struct gpu_rec_memory memory;
	struct gpu_rec_pool pool;
	struct gpu_rec_range range;
	struct gpu_rec_mark mark;
	struct gpu_rec_drops drops;
	unsigned char bytes[GPU_MAX_RECORD];
};

typedef void shared_region_record(void *context, const union gpu_any_record *record);

/*
 * Takes all finished records out of the rings: those of the calling threads first, then those of
 * what the GPU ran, so that a call comes before what it caused. Returns how many.
 */
size_t shared_region_drain(struct shared_region *region, shared_region_record *take, void *context);

/* Records that found a ring full; rings given up because what was in them made no sense. */
uint64_t shared_region_nr_dropped(const struct shared_region *region);
uint32_t shared_region_nr_broken(const struct shared_region *region);

#endif
