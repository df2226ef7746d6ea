/*
 * Writes the trace events that are not samples: what the GPUs ran, the CUDA calls that launched it,
 * with an arrow from each call to its work, NVTX ranges, device memory and occupancy. Times are as
 * recorded, to the nanosecond.
 */
#ifndef SPROF_CHROME_GPU_H
#define SPROF_CHROME_GPU_H

#include <stdint.h>

struct buffer;
struct fact_gpu_activity;
struct profile;

/* The number of GPU activities that the recording counted but did not keep. */
uint64_t chrome_gpu_left_out(const struct profile *p);

/*
 * Appends the events, with `separator` before the first and ",\n" before the others. Returns the
 * separator for the next event of the file.
 */
const char *chrome_gpu_add(struct buffer *b, const struct profile *p, const char *separator);

/* Appends a kernel's grid, block, registers and shared memory, with the names of torch.profiler. */
void chrome_gpu_add_shape(struct buffer *b, const struct fact_gpu_activity *a);

#endif
