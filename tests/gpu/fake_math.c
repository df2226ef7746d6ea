/*
 * Stand-ins for libcublas.so, libcublasLt.so and libcudnn.so, one of them for each of the macros
 * CUBLAS, CUBLASLT and CUDNN. They compute nothing; their calls launch kernels of the fake libcuda,
 * with as many blocks as this says:
 *
 *	cublas*gemm*	gemm_kernel, 10 blocks; cublasGemmEx calls cublasLtMatmul instead
 *	cublasLtMatmul	gemm_kernel, 20 blocks, and reduce_kernel, 5
 *	convolutions	conv_kernel, 30 blocks
 *	plans		plan_kernel, 40 blocks
 *
 * A negative size is refused as the real ones do, unless FAKE_LENIENT is set.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cuLaunchKernel(void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
		   uint32_t bz, uint32_t shared, void *stream, void **params, void **extra);
int cuModuleGetFunction(void **function, void *module, const char *name);

static __attribute__((unused)) int launch(const char *name, uint32_t blocks)
{
	static __thread void *known[2];
	static __thread const char *names[2];
	int i = names[0] && strcmp(names[0], name) != 0;

	if (!known[i])
		cuModuleGetFunction(&known[i], NULL, name);
	names[i] = name;
	return cuLaunchKernel(known[i], blocks, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static __attribute__((unused)) int refuses(int64_t size)
{
	return size < 0 && !getenv("FAKE_LENIENT") ? 7 : 0; /* CUBLAS_STATUS_INVALID_VALUE */
}

#if defined(CUBLAS)
static int math_mode;

int cublasSetMathMode(void *handle, int mode)
{
	(void)handle;
	math_mode = mode;
	return 0;
}

int cublasGetMathMode(void *handle, int *mode)
{
	(void)handle;
	*mode = math_mode;
	return 0;
}

#define GEMM(name, SIZE)                                                                           \
	int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
		 const void *a, SIZE lda, const void *b, SIZE ldb, const void *beta, void *c,      \
		 SIZE ldc)                                                                         \
	{                                                                                          \
		(void)handle, (void)ta, (void)tb, (void)n, (void)k, (void)alpha, (void)a;          \
		(void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;                     \
		return refuses(m) ? refuses(m) : launch("gemm_kernel", 10);                        \
	}
GEMM(cublasSgemm_v2, int)
GEMM(cublasSgemm_v2_64, int64_t)
GEMM(cublasDgemm_v2, int)
GEMM(cublasCgemm_v2, int)
GEMM(cublasZgemm_v2, int)
GEMM(cublasHgemm, int)

int cublasSgemmStridedBatched(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
			      const void *a, int lda, long long sa, const void *b, int ldb,
			      long long sb, const void *beta, void *c, int ldc, long long sc,
			      int batch)
{
	(void)handle, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a;
	(void)lda, (void)sa, (void)b, (void)ldb, (void)sb, (void)beta, (void)c, (void)ldc;
	(void)sc, (void)batch;
	return launch("gemm_kernel", 10);
}

int cublasSgemmBatched(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		       const void *const *a, int lda, const void *const *b, int ldb,
		       const void *beta, void *const *c, int ldc, int batch)
{
	(void)handle, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a;
	(void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc, (void)batch;
	return launch("gemm_kernel", 10);
}

int cublasSgemmGroupedBatched(void *handle, const int *ta, const int *tb, const int *m,
			      const int *n, const int *k, const void *alpha, const void *const *a,
			      const int *lda, const void *const *b, const int *ldb,
			      const void *beta, void *const *c, const int *ldc, int groups,
			      const int *size)
{
	(void)handle, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a;
	(void)lda, (void)b, (void)ldb, (void)beta, (void)c, (void)ldc, (void)groups, (void)size;
	return launch("gemm_kernel", 10);
}

/* As in cublasLt.h, for the descriptors that are handed on. */
struct layout {
	uint32_t type, order;
	uint64_t rows, columns;
	int32_t batch;
};
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		   void *d, void *d_layout, const void *algo, void *workspace, size_t size,
		   void *stream);

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		 const void *a, int ad, int lda, const void *b, int bd, int ldb, const void *beta,
		 void *c, int cd, int ldc, int compute, int algo)
{
	int32_t desc[8] = { compute };
	struct layout a_layout = { (uint32_t)ad, 0, (uint64_t)m, (uint64_t)k, 1 },
		      d_layout = { (uint32_t)cd, 0, (uint64_t)m, (uint64_t)n, 1 };

	(void)ta, (void)tb, (void)lda, (void)bd, (void)ldb, (void)ldc, (void)algo;
	return cublasLtMatmul(handle, desc, alpha, a, &a_layout, b, NULL, beta, c, NULL, c,
			      &d_layout, NULL, NULL, 0, NULL);
}
#elif defined(CUBLASLT)
struct layout {
	uint32_t type, order;
	uint64_t rows, columns;
	int32_t batch;
};

int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *value, size_t size,
				     size_t *written)
{
	const struct layout *l = layout;
	const struct {
		const void *from;
		size_t size;
	} fields[] = { [0] = { &l->type, 4 },
		       [2] = { &l->rows, 8 },
		       [3] = { &l->columns, 8 },
		       [5] = { &l->batch, 4 } };

	if (attribute < 0 || attribute > 5 || !fields[attribute].from ||
	    size != fields[attribute].size || l->order == 99)
		return 7;
	memcpy(value, fields[attribute].from, size);
	*written = size;
	return 0;
}

int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *value, size_t size,
				   size_t *written)
{
	if (attribute < 0 || attribute > 7 || size != 4)
		return 7;
	memcpy(value, (const int32_t *)desc + attribute, 4);
	*written = 4;
	return 0;
}

int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		   void *d, void *d_layout, const void *algo, void *workspace, size_t size,
		   void *stream)
{
	(void)handle, (void)desc, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout;
	(void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algo;
	(void)workspace, (void)size, (void)stream;
	return launch("gemm_kernel", 20) || launch("reduce_kernel", 5);
}
#elif defined(CUDNN)
/* A tensor, a filter or a convolution: its numbers. */
struct descriptor {
	int data, nr, sizes[8];
};

int cudnnGetTensorNdDescriptor(const void *tensor, int max, int *data, int *nr, int *sizes,
			       int *strides)
{
	const struct descriptor *d = tensor;

	(void)strides;
	*data = d->data;
	*nr = d->nr;
	for (int i = 0; i < d->nr && i < max; i++)
		sizes[i] = d->sizes[i];
	return 0;
}

int cudnnGetFilterNdDescriptor(const void *filter, int max, int *data, int *format, int *nr,
			       int *sizes)
{
	*format = 0;
	return cudnnGetTensorNdDescriptor(filter, max, data, nr, sizes, NULL);
}

int cudnnGetConvolutionMathType(const void *convolution, int *math)
{
	*math = *(const int *)convolution;
	return 0;
}

#define CONVOLUTION(name)                                                                          \
	int name(void *handle, const void *alpha, const void *d1, const void *x, const void *d2,   \
		 const void *y, const void *convolution, int algo, void *workspace, size_t size,   \
		 const void *beta, const void *d3, void *z)                                        \
	{                                                                                          \
		(void)handle, (void)alpha, (void)d1, (void)x, (void)d2, (void)y;                   \
		(void)convolution, (void)algo, (void)workspace, (void)size, (void)beta, (void)d3;  \
		(void)z;                                                                           \
		return launch("conv_kernel", 30);                                                  \
	}
CONVOLUTION(cudnnConvolutionForward)
CONVOLUTION(cudnnConvolutionBackwardData)
CONVOLUTION(cudnnConvolutionBackwardFilter)

/* A heuristic answers with configurations; of the rest nothing can be read back. */
int cudnnBackendCreateDescriptor(int type, void **descriptor)
{
	*descriptor = calloc(1, 64);
	**(int **)descriptor = type;
	return 0;
}

int cudnnBackendDestroyDescriptor(void *descriptor)
{
	free(descriptor);
	return 0;
}

int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t nr,
			     const void *elements)
{
	(void)descriptor, (void)attribute, (void)type, (void)nr, (void)elements;
	return 0;
}

int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t max, int64_t *nr,
			     void *elements)
{
	(void)descriptor, (void)attribute, (void)type, (void)max, (void)elements;
	*nr = 1;
	return 0;
}

int cudnnBackendExecute(void *handle, void *plan, void *variant_pack)
{
	(void)handle, (void)plan, (void)variant_pack;
	return launch("plan_kernel", 40);
}
#endif
