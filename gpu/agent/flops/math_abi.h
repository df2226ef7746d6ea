/*
 * What the agent uses of the public interfaces of cuBLAS, cuBLASLt and cuDNN: numbers of their
 * headers, written down here so that nothing of CUDA is needed to build. tests/gpu/real_math.bats
 * compares them with NVIDIA's headers. Functions return 0 where they succeed; enums are passed as
 * int, and handles and descriptors are pointers.
 */
#ifndef SPROF_GPU_AGENT_MATH_ABI_H
#define SPROF_GPU_AGENT_MATH_ABI_H

enum cuda_data { /* library_types.h */
		 CUDA_R_32F = 0,
		 CUDA_R_64F = 1,
		 CUDA_R_16F = 2,
		 CUDA_R_8I = 3,
		 CUDA_C_32F = 4,
		 CUDA_C_64F = 5,
		 CUDA_C_16F = 6,
		 CUDA_C_8I = 7,
		 CUDA_R_8U = 8,
		 CUDA_C_8U = 9,
		 CUDA_R_16BF = 14,
		 CUDA_C_16BF = 15,
		 CUDA_R_8F_E4M3 = 28,
		 CUDA_R_8F_E5M2 = 29,
		 CUDA_R_4F_E2M1 = 33,
};

enum cublas_compute { /* cublas_api.h */
		      CUBLAS_COMPUTE_16F = 64,
		      CUBLAS_COMPUTE_16F_PEDANTIC = 65,
		      CUBLAS_COMPUTE_32F = 68,
		      CUBLAS_COMPUTE_32F_PEDANTIC = 69,
		      CUBLAS_COMPUTE_32F_FAST_16F = 74,
		      CUBLAS_COMPUTE_32F_FAST_16BF = 75,
		      CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

enum cublas_math { /* the low four bits of a handle's math mode */
		   CUBLAS_DEFAULT_MATH = 0,
		   CUBLAS_TENSOR_OP_MATH = 1,
		   CUBLAS_PEDANTIC_MATH = 2,
		   CUBLAS_TF32_TENSOR_OP_MATH = 3,
};

enum cublaslt_attribute {					  /* cublasLt.h */
			  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,	  /* uint32_t: enum cuda_data */
			  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,	  /* uint64_t */
			  CUBLASLT_MATRIX_LAYOUT_COLS = 3,	  /* uint64_t */
			  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5, /* int32_t */
			  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,  /* int32_t: enum cublas_compute */
			  CUBLASLT_MATMUL_DESC_TRANSA = 3,	  /* int32_t: 0 = not transposed */
};

#define CUDNN_DIM_MAX 8

enum cudnn_data { /* cudnn_graph.h; before version 9 cudnn_ops_infer.h */
		  CUDNN_DATA_FLOAT = 0,
		  CUDNN_DATA_DOUBLE = 1,
		  CUDNN_DATA_HALF = 2,
		  CUDNN_DATA_INT8 = 3,
		  CUDNN_DATA_INT8x4 = 5,
		  CUDNN_DATA_UINT8 = 6,
		  CUDNN_DATA_UINT8x4 = 7,
		  CUDNN_DATA_INT8x32 = 8,
		  CUDNN_DATA_BFLOAT16 = 9,
		  CUDNN_DATA_FP8_E4M3 = 12,
		  CUDNN_DATA_FP8_E5M2 = 13,
		  CUDNN_DATA_FP4_E2M1 = 16,
};

enum cudnn_math { CUDNN_DEFAULT_MATH = 0, CUDNN_FMA_MATH = 3 };

enum cudnn_attribute {
	CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201,
	CUDNN_ATTR_ENGINEHEUR_RESULTS = 202,
	CUDNN_ATTR_ENGINECFG_ENGINE = 300,
	CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401,
	CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W = 703,
	CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y = 705,
	CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W = 709,
	CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY = 711,
	CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW = 715,
	CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY = 717,
	CUDNN_ATTR_OPERATIONGRAPH_OPS = 801,
	CUDNN_ATTR_TENSOR_DATA_TYPE = 901,
	CUDNN_ATTR_TENSOR_DIMENSIONS = 902,
	CUDNN_ATTR_ENGINE_OPERATION_GRAPH = 1300,
	CUDNN_ATTR_OPERATION_MATMUL_ADESC = 1520,
	CUDNN_ATTR_OPERATION_MATMUL_CDESC = 1522,
};

enum cudnn_attribute_type { /* of the elements of an attribute */
			    CUDNN_TYPE_DATA_TYPE = 1,
			    CUDNN_TYPE_INT64 = 3,
			    CUDNN_TYPE_BACKEND_DESCRIPTOR = 15,
};

#endif
