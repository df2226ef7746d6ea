/*
 * cuBLASLt: products of matrices, whose sizes are in descriptors of the matrices. Those are opaque;
 * the library's own functions read them. Prototypes: cublasLt.h of CUDA 11 to 13.
 */
#include "gpu/agent/flops/flops_call.h"
#include "gpu/agent/flops/math_abi.h"
#include "gpu/agent/flops/math_libraries.h"

enum { LAYOUT_ATTRIBUTE, DESC_ATTRIBUTE };
static struct import needed[] = {
	[LAYOUT_ATTRIBUTE] = { "cublasLtMatrixLayoutGetAttribute", 0, 0 },
	[DESC_ATTRIBUTE] = { "cublasLtMatmulDescGetAttribute", 0, 0 },
};

static int Matmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		  const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		  void *d, void *d_layout, const void *algo, void *workspace, size_t workspace_size,
		  void *stream);

static struct import imports[] = { { "cublasLtMatmul", 0, (uintptr_t)Matmul } };

/* Both functions have this type: descriptor, attribute, value, its size, bytes written. */
typedef int get_fn(void *descriptor, int attribute, void *value, size_t size, size_t *written);

static bool get(int function, void *descriptor, int attribute, void *value, size_t size)
{
	get_fn *real = (get_fn *)math_real(&needed[function]);
	size_t written = 0;

	return descriptor && !real(descriptor, attribute, value, size, &written) && written == size;
}

/* Of a matrix as it lies in memory. */
struct layout {
	uint64_t rows, columns;
	int32_t batch;
	uint32_t data;
};

static bool read_layout(void *descriptor, struct layout *ret)
{
	return get(LAYOUT_ATTRIBUTE, descriptor, CUBLASLT_MATRIX_LAYOUT_ROWS, &ret->rows, 8) &&
	       get(LAYOUT_ATTRIBUTE, descriptor, CUBLASLT_MATRIX_LAYOUT_COLS, &ret->columns, 8) &&
	       get(LAYOUT_ATTRIBUTE, descriptor, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &ret->batch,
		   4) &&
	       get(LAYOUT_ATTRIBUTE, descriptor, CUBLASLT_MATRIX_LAYOUT_TYPE, &ret->data, 4);
}

/* D is m times n, and A is m times k if it is not transposed. */
static struct shape read_shape(void *desc, void *a_layout, void *d_layout)
{
	int32_t compute = 0, transposed = 0;
	struct layout a, d;
	struct shape shape;
	int data;

	if (!read_layout(a_layout, &a) || !read_layout(d_layout, &d) ||
	    !get(DESC_ATTRIBUTE, desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, 4) ||
	    !get(DESC_ATTRIBUTE, desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, 4))
		return shape_unknown(GPU_FLOPS_LAYOUTS);
	data = (int)a.data;
	shape = shape_new(GPU_FLOPS_LAYOUTS,
			  shape_type_of_matrix(data, compute, CUBLAS_DEFAULT_MATH));
	shape_add(&shape, shape_factor_of_matrix(data), (int64_t)d.rows, (int64_t)d.columns,
		  (int64_t)(transposed ? a.rows : a.columns), d.batch);
	return shape;
}

static int Matmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		  const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		  void *d, void *d_layout, const void *algo, void *workspace, size_t workspace_size,
		  void *stream)
{
	__typeof__(&Matmul) real = (__typeof__(&Matmul))math_real(&imports[0]);
	struct flops_call call;

	if (flops_call_begins(&call, __builtin_frame_address(0))) {
		const struct shape shape = read_shape(desc, a_layout, d_layout);

		flops_call_is(&call, "cublasLtMatmul", &shape);
	}
	return flops_call_ends(&call, real(handle, desc, alpha, a, a_layout, b, b_layout, beta, c,
					   c_layout, d, d_layout, algo, workspace, workspace_size,
					   stream));
}

const struct math_library math_cublaslt = {
	.file = "libcublasLt.so",
	.imports = imports,
	.nr = sizeof(imports) / sizeof(*imports),
	.needed = needed,
	.nr_needed = sizeof(needed) / sizeof(*needed),
};
