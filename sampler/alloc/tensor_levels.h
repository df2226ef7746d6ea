/*
 * What PyTorch's allocators say of their devices: how much they hold over time, and the interval by
 * which their blocks are sampled where these are too many to record each.
 */
#ifndef SPROF_TENSOR_LEVELS_H
#define SPROF_TENSOR_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/column.h"

struct alloc_shared;
struct sink;
struct tensor_levels;

/* A device is the two bytes of a c10::Device. */
enum memory_kind tensor_device_kind(uint32_t device);

#define TENSOR_DEVICE_NAME 32

/* "cuda:0", "cpu"; returns `name`. */
const char *tensor_device_name(uint32_t device, char name[TENSOR_DEVICE_NAME]);
/* The label of its blocks, a string of the sink: device=cuda:0. */
uint32_t tensor_device_label(struct sink *sink, uint32_t device);

/* Of one process; `shared` must outlive the result, and may hold anything. */
struct tensor_levels *tensor_levels_new(uint32_t pid, struct alloc_shared *shared);
void tensor_levels_free(struct tensor_levels *levels); /* NULL is fine */

/* Writes what has changed since the last call; to be called several times a second. */
void tensor_levels_drain(struct tensor_levels *levels, uint64_t now_ns, struct sink *sink);
/* A block was recorded that was chosen by this interval. */
void tensor_levels_see_interval(struct tensor_levels *levels, uint64_t interval);
/* Sets the interval by the blocks of the last `ns`. */
void tensor_levels_adapt(struct tensor_levels *levels, uint64_t ns);
/* Writes the last levels, and the sums of each device. */
void tensor_levels_finish(struct tensor_levels *levels, uint64_t now_ns, struct sink *sink);

/*
 * The interval for that many blocks and bytes in that time: 1, every block, as long as they are
 * few. `interval` is the present one.
 */
uint64_t tensor_next_interval(uint64_t interval, uint64_t nr_blocks, uint64_t nr_bytes,
			      uint64_t ns);

#endif
