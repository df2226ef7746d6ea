/* How much of a multiprocessor a kernel can fill at most, by the shape of its launch. */
#ifndef SPROF_OCCUPANCY_H
#define SPROF_OCCUPANCY_H

#include <stdbool.h>

struct fact_gpu_activity;
struct fact_gpu_device;
struct fact_gpu_work;

/*
 * Theoretical occupancy of a kernel: the warps that fit on a multiprocessor at once, limited by
 * registers, shared memory, warps and blocks, as a percentage of the warps that it holds.
 * Allocation granularities are those of compute capability 7.0 and later (CUDA Occupancy
 * Calculator). Returns false if the device or the shape of the launch is not known.
 */
bool occupancy_percent(const struct fact_gpu_device *device, const struct fact_gpu_work *kernel,
		       unsigned *ret_percent);

/*
 * The most that one launch can fill of its GPU at any moment: theoretical occupancy, or less where
 * the grid has fewer warps than would fit. In millionths of the warps that all multiprocessors
 * hold. Returns false if the device or the shape of the launch is not known.
 */
bool occupancy_of_launch(const struct fact_gpu_device *device,
			 const struct fact_gpu_activity *kernel, unsigned *ret_ppm);

#endif
