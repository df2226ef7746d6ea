/* Hints from what was counted of the GPUs: exact shares of their time, no estimates. */
#ifndef SPROF_GPU_HINTS_H
#define SPROF_GPU_HINTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"

struct hint;

enum { MAX_GPU_HINTS = 8 };

/* Returns the function to name for a stack, a number below nr_functions; 0 = none. */
typedef uint32_t (*gpu_hints_where)(const void *context, uint32_t stack);

/*
 * Fills in the hints that apply, at most MAX_GPU_HINTS, and returns their number. weights: room for
 * a number per function; on return ret_where[i] is the function that has most of hint i, 0 = none,
 * and ret_hints[i].where is not set.
 */
size_t gpu_hints_find(const struct profile *p, gpu_hints_where where, const void *context,
		      uint64_t *weights, uint32_t nr_functions, struct hint *ret_hints,
		      uint32_t *ret_where);

#endif
