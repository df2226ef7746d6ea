/*
 * How many operations a GPU can do in a second, by its kind, its multiprocessors and its highest
 * clock: what a rate is compared with. Dense matrices, no sparsity.
 */
#ifndef SPROF_GPU_PEAK_H
#define SPROF_GPU_PEAK_H

#include <stdint.h>

#include "core/portable/gpu_flops.h"

struct fact_gpu_device;
struct profile;

/*
 * Operations per second; 0 where the peak is not known. *ret_source says in words where the number
 * is from, or why there is none.
 */
double gpu_peak(const struct profile *p, const struct fact_gpu_device *device, uint64_t type,
		const char **ret_source);

/* "FP32", "TF32", ...; "unknown" for values out of range. */
const char *gpu_peak_type_name(uint64_t type);

#endif
