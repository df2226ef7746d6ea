/*
 * The recorder's side of the memory shared with libsprof-gpu.so in a target
 * (gpu/agent/base/region.h). The target may write anything there, at any time, from any thread. So
 * everything is copied out before it is checked, and no number is used before it was checked.
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
 * Maps the memory of a memfd; the descriptor stays the caller's. 0; -EPROTO if it is not a region
 * of this version; -EPERM if it is not sealed against shrinking; or the kernel's -errno. Not
 * reported.
 */
int shared_region_open(int memfd, struct shared_region **ret_region);
/* The same for memory that is mapped already: `size` bytes, 8-aligned; it stays the caller's. */
int shared_region_adopt(void *memory, size_t size, struct shared_region **ret_region);
void shared_region_close(struct shared_region *region);

/* Has the target taken a part of the memory away? Then only zeros are left of it. */
bool shared_region_is_lost(const struct shared_region *region);

/* The header itself, to write config and control. The target may write there at the same time. */
struct gpu_region *shared_region_written_header(const struct shared_region *region);

/* Copies the header as it is now. */
void shared_region_header(const struct shared_region *region, struct gpu_region *ret_header);

/* Copies a string. False, with `b` empty, if there is no such string. */
bool shared_region_string(const struct shared_region *region, uint32_t id, struct buffer *b);
/*
 * Copies a stack of at most GPU_MAX_STACK frames, leaf first. False if there is none, or it is
 * empty.
 */
bool shared_region_stack(const struct shared_region *region, uint32_t id, uint64_t *frames,
			 uint32_t *ret_nr, uint8_t *ret_end);

/* Bytes in use of the stack arena. It only grows; the stacks in it follow each other. */
uint64_t shared_region_stacks_used(const struct shared_region *region);
/* The id of the stack that follows; for 0 that of the first. */
uint32_t shared_region_next_stack(const struct shared_region *region, uint32_t id);

/* The number of entries, and a copy of one; false if that entry is not in use. */
uint32_t shared_region_nr_ranges(const struct shared_region *region);
bool shared_region_range(const struct shared_region *region, uint32_t id,
			 struct gpu_range_node *ret_node);
uint32_t shared_region_nr_folds(const struct shared_region *region);
bool shared_region_fold(const struct shared_region *region, uint32_t i, struct gpu_fold *ret_fold);
uint32_t shared_region_nr_apis(const struct shared_region *region);
bool shared_region_api(const struct shared_region *region, uint32_t i, struct gpu_api *ret_api);
bool shared_region_device(const struct shared_region *region, uint32_t i,
			  struct gpu_device *ret_device);

uint32_t shared_region_nr_estimates(const struct shared_region *region);
bool shared_region_estimate(const struct shared_region *region, uint32_t i,
			    struct gpu_estimate *ret_estimate);

uint32_t shared_region_nr_flops(const struct shared_region *region);
bool shared_region_flops(const struct shared_region *region, uint32_t i,
			 struct gpu_flops *ret_flops);
uint32_t shared_region_nr_pc_rows(const struct shared_region *region);
bool shared_region_pc_row(const struct shared_region *region, uint32_t i,
			  struct gpu_pc_row *ret_row);

/* A record, filled up with zeros to GPU_MAX_RECORD bytes. */
union gpu_any_record {
	struct gpu_record head;
	struct gpu_work work; /* if it is GPU work */
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
	struct gpu_rec_untimed untimed;
	unsigned char bytes[GPU_MAX_RECORD];
};

typedef void shared_region_record(void *context, const union gpu_any_record *record);

/*
 * Takes all finished records out of the rings and returns their number. The rings of calling
 * threads come first and that of activities last, so that a call comes before the work that it
 * caused.
 */
size_t shared_region_drain(struct shared_region *region, shared_region_record *take, void *context);

/* Records lost to full rings; rings no longer read because their content made no sense. */
uint64_t shared_region_nr_dropped(const struct shared_region *region);
uint32_t shared_region_nr_broken(const struct shared_region *region);
/*
 * A number that grows when the record of an activity is lost: the ring was full, CUPTI dropped it
 * or had no buffer for it, or it could not be read.
 */
uint64_t shared_region_nr_activities_lost(const struct shared_region *region);

#endif
