/*
 * The kinds of GPU work that a recording may collect or leave out: their names, in options and
 * outputs, and which of them a profile lacks.
 */
#ifndef SPROF_GPU_KINDS_H
#define SPROF_GPU_KINDS_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct profile;

/* Bits. On disk too, and those of enum gpu_want (gpu/agent/base/region.h): append only. */
enum gpu_kind {
	GPU_KIND_KERNELS = 1u << 0,
	GPU_KIND_COPIES = 1u << 1,
	GPU_KIND_FILLS = 1u << 2,
	GPU_KIND_WAITS = 1u << 3,    /* of the host for the GPU */
	GPU_KIND_OVERHEAD = 1u << 4, /* of CUPTI itself */
	GPU_KIND_GRAPHS = 1u << 5,   /* CUDA graphs, whole: without their kernels */
	GPU_KIND_MEMORY = 1u << 6,   /* allocations and pools */
	GPU_KIND_RANGES = 1u << 7,   /* of NVTX */
	GPU_KIND_LAUNCHES = 1u << 12 /* calls that launch, whether or not their work is recorded */
};
#define GPU_KINDS_ALL                                                                              \
	(GPU_KIND_KERNELS | GPU_KIND_COPIES | GPU_KIND_FILLS | GPU_KIND_WAITS |                    \
	 GPU_KIND_OVERHEAD | GPU_KIND_GRAPHS | GPU_KIND_MEMORY | GPU_KIND_RANGES |                 \
	 GPU_KIND_LAUNCHES)
#define GPU_KINDS_DEFAULT (GPU_KINDS_ALL & ~GPU_KIND_GRAPHS)

/*
 * Parses names with commas between them. A name with "-" in front is taken away, from the default
 * if the list begins so. False for any other text, and where nothing is left.
 */
bool gpu_kinds_parse(const char *text, uint64_t *ret_kinds);

/* Appends the names of the kinds, "kernels, copies". */
void gpu_kinds_add(struct buffer *b, uint64_t kinds);
/* Appends them as a JSON array. */
void gpu_kinds_add_json(struct buffer *b, uint64_t kinds);

/*
 * The kinds that no process of the recording was asked for, and 0 where the recording does not say,
 * or holds no GPU data.
 */
uint64_t gpu_kinds_not_collected(const struct profile *p);

#endif
