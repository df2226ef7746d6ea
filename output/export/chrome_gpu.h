/*
 * The part of a file of trace events (export_chrome) that is no sample: what GPUs ran, the calls that asked
 * for it with arrows from the one to the other, NVTX ranges, and device memory. Every start and duration
 * is as it was recorded, to the nanosecond.
 */
#ifndef SPROF_CHROME_GPU_H
#define SPROF_CHROME_GPU_H

#include <stdint.h>

struct buffer;
struct profile;

/* Activities that the recording counted and did not keep. */
uint64_t chrome_gpu_left_out(const struct profile *p);

/*
 * Appends the events. `separator` goes before the first, ",\n" before the others; returns what goes before
 * the next.
 */
const char *chrome_gpu_add(struct buffer *b, const struct profile *p, const char *separator);

#endif
