/*
 * Calls of mathematical libraries (cuBLAS, cuDNN), as they are described in the memory that a
 * target shares and on disk.
 */
#ifndef SPROF_GPU_FLOPS_H
#define SPROF_GPU_FLOPS_H

#include <stdint.h>

/* What a call computes with, as far as peak rates depend on it. On disk too: append only. */
enum gpu_flops_type {
	GPU_FLOPS_UNKNOWN = 0,
	GPU_FLOPS_FP64 = 1,
	GPU_FLOPS_FP32 = 2,
	GPU_FLOPS_TF32 = 3, /* FP32 numbers, multiplied as TF32 where the device can */
	GPU_FLOPS_FP16 = 4, /* with sums in FP32, like the next ones */
	GPU_FLOPS_BF16 = 5,
	GPU_FLOPS_FP8 = 6,
	GPU_FLOPS_INT8 = 7,
	GPU_FLOPS_FP4 = 8,
	GPU_FLOPS_FP16_SUMS = 9,     /* FP16 with sums in FP16 */
	GPU_FLOPS_FP32_OR_TF32 = 10, /* the library chooses, and does not say */
	GPU_NR_FLOPS_TYPES
};

/* Where the shape of a call was read. On disk too: append only. */
enum gpu_flops_source {
	GPU_FLOPS_ARGUMENTS = 1,   /* arguments of a function of cuBLAS */
	GPU_FLOPS_LAYOUTS = 2,	   /* descriptors of cuBLASLt */
	GPU_FLOPS_DESCRIPTORS = 3, /* descriptors of cuDNN */
	GPU_FLOPS_PLAN = 4,	   /* what an execution plan of cuDNN was made from */
	GPU_NR_FLOPS_SOURCES
};

/* Calls of one function of a library from one stack; entry 0: calls without room. */
struct gpu_flops {
	uint32_t known; /* 1 once the key is filled (release) */
	uint32_t name;	/* string: the function; from here to `source`: the key */
	uint32_t stack, range;
	uint8_t type;	/* enum gpu_flops_type */
	uint8_t source; /* enum gpu_flops_source */
	uint16_t reserved0;
	uint32_t reserved1;
	/* calls that ran and have a known shape, also in graphs; operations: high * 2^64 + low */
	uint64_t calls, low, high;
	uint64_t saturated; /* calls with too many operations, counted as UINT64_MAX */
	uint64_t unknown;   /* calls that ran and have no known shape */
	uint64_t failed;    /* calls that returned an error */
	uint64_t captured;  /* calls that became nodes of a graph, and ran nothing */
};
_Static_assert(sizeof(struct gpu_flops) == 80, "shared");

#endif
