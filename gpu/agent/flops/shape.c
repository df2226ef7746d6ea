/* Products that saturate, and the types of data that the libraries tell of. */
#include "gpu/agent/flops/shape.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/agent/flops/math_abi.h"

static bool tf32_is_forbidden;

void shape_add(struct shape *shape, uint64_t factor, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const int64_t sizes[] = { a, b, c, d };
	uint64_t product = factor;
	bool saturated = false;

	for (int i = 0; i < 4; i++) {
		if (sizes[i] < 0)
			shape->known = false;
		if (sizes[i] <= 0)
			return;
	}
	for (int i = 0; i < 4; i++)
		saturated |= __builtin_mul_overflow(product, (uint64_t)sizes[i], &product);
	if (saturated || __builtin_add_overflow(shape->flops, product, &shape->flops)) {
		shape->flops = UINT64_MAX;
		shape->saturated = true;
	}
}

void shape_read_environment(void)
{
	const char *text = getenv("NVIDIA_TF32_OVERRIDE");

	tf32_is_forbidden = text && !strcmp(text, "0");
}

uint8_t shape_tf32(void)
{
	return tf32_is_forbidden ? GPU_FLOPS_FP32 : GPU_FLOPS_TF32;
}

static uint8_t type_of_single(int compute, int math)
{
	switch (compute) {
	case CUBLAS_COMPUTE_32F_FAST_TF32: return shape_tf32();
	case CUBLAS_COMPUTE_32F_FAST_16F: return GPU_FLOPS_FP16;
	case CUBLAS_COMPUTE_32F_FAST_16BF: return GPU_FLOPS_BF16;
	case CUBLAS_COMPUTE_32F_PEDANTIC: return GPU_FLOPS_FP32;
	}
	switch (math & 15) {
	case CUBLAS_TF32_TENSOR_OP_MATH: return shape_tf32();
	case CUBLAS_TENSOR_OP_MATH: return GPU_FLOPS_FP16;
	default: return GPU_FLOPS_FP32;
	}
}

uint8_t shape_type_of_matrix(int data, int compute, int math)
{
	switch (data) {
	case CUDA_R_32F:
	case CUDA_C_32F: return type_of_single(compute, math);
	case CUDA_R_64F:
	case CUDA_C_64F: return GPU_FLOPS_FP64;
	case CUDA_R_16F:
	case CUDA_C_16F:
		return compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC
			       ? GPU_FLOPS_FP16_SUMS
			       : GPU_FLOPS_FP16;
	case CUDA_R_16BF:
	case CUDA_C_16BF: return GPU_FLOPS_BF16;
	case CUDA_R_8I:
	case CUDA_C_8I:
	case CUDA_R_8U:
	case CUDA_C_8U: return GPU_FLOPS_INT8;
	case CUDA_R_8F_E4M3:
	case CUDA_R_8F_E5M2: return GPU_FLOPS_FP8;
	case CUDA_R_4F_E2M1: return GPU_FLOPS_FP4;
	default: return GPU_FLOPS_UNKNOWN;
	}
}

uint64_t shape_factor_of_matrix(int data)
{
	switch (data) {
	case CUDA_C_32F:
	case CUDA_C_64F:
	case CUDA_C_16F:
	case CUDA_C_16BF:
	case CUDA_C_8I:
	case CUDA_C_8U: return SHAPE_COMPLEX;
	default: return SHAPE_REAL;
	}
}

uint8_t shape_type_of_tensor(int data, enum gpu_flops_type single)
{
	switch (data) {
	case CUDNN_DATA_FLOAT: return (uint8_t)single;
	case CUDNN_DATA_DOUBLE: return GPU_FLOPS_FP64;
	case CUDNN_DATA_HALF: return GPU_FLOPS_FP16;
	case CUDNN_DATA_BFLOAT16: return GPU_FLOPS_BF16;
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_INT8x4:
	case CUDNN_DATA_UINT8x4:
	case CUDNN_DATA_INT8x32: return GPU_FLOPS_INT8;
	case CUDNN_DATA_FP8_E4M3:
	case CUDNN_DATA_FP8_E5M2: return GPU_FLOPS_FP8;
	case CUDNN_DATA_FP4_E2M1: return GPU_FLOPS_FP4;
	default: return GPU_FLOPS_UNKNOWN;
	}
}
