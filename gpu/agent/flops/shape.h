/*
 * How many operations a call asks for: a product of sizes that come from the program, so any of
 * them may be negative or huge. A product that does not fit stays at UINT64_MAX and says so.
 */
#ifndef SPROF_GPU_AGENT_SHAPE_H
#define SPROF_GPU_AGENT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/agent/base/region.h"

struct shape {
	uint64_t flops;
	bool known, saturated;
	uint8_t type;	/* enum gpu_flops_type */
	uint8_t source; /* enum gpu_flops_source */
};

/* The shape of nothing, to which products are added. */
static inline struct shape shape_new(enum gpu_flops_source source, uint8_t type)
{
	return (struct shape){ .known = true, .type = type, .source = (uint8_t)source };
}

static inline struct shape shape_unknown(enum gpu_flops_source source)
{
	return (struct shape){ .source = (uint8_t)source };
}

/*
 * Adds factor * a * b * c * d. A negative size makes the shape unknown: a library refuses it, or
 * means something else by it.
 */
void shape_add(struct shape *shape, uint64_t factor, int64_t a, int64_t b, int64_t c, int64_t d);

/* The operations of a multiplication and an addition, of real or complex numbers. */
#define SHAPE_REAL 2u
#define SHAPE_COMPLEX 8u

/*
 * What a product of matrices of that data (enum cuda_data) computes with, by the type that it was
 * asked to compute in (enum cublas_compute, or any other number) and the handle's math mode.
 */
uint8_t shape_type_of_matrix(int data, int compute, int math);
/* SHAPE_REAL or SHAPE_COMPLEX. */
uint64_t shape_factor_of_matrix(int data);
/* What a convolution of that data (enum cudnn_data) computes with; `single`: what FP32 is then. */
uint8_t shape_type_of_tensor(int data, enum gpu_flops_type single);
/* Reads whether NVIDIA_TF32_OVERRIDE=0 forbids TF32. */
void shape_read_environment(void);
/* FP32 numbers that may be multiplied as TF32: what they are, given that variable. */
uint8_t shape_tf32(void);

#endif
