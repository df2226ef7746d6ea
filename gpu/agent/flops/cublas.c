/*
 * cuBLAS: products of matrices, whose sizes are arguments. Each function below stands for the one
 * of its name with "cublas" in front; those of a family differ in types alone, and each exists with
 * sizes of 32 and of 64 bits. Prototypes: cublas_api.h of CUDA 11 to 13.
 */
#include "gpu/agent/flops/flops_call.h"
#include "gpu/agent/flops/math_abi.h"
#include "gpu/agent/flops/math_libraries.h"

#define MAX_GROUPS 65536

/* The type that such functions compute in is that of their data, by the handle's math mode. */
#define AS_DATA (-1)

enum { GET_MATH_MODE };
static struct import needed[] = { { "cublasGetMathMode", 0, 0 } };

/* F(NAME), ...: all functions. Each exists with sizes of 64 bits, too. */
#define FUNCTIONS(F)                                                                               \
	F(Sgemm_v2), F(Dgemm_v2), F(Cgemm_v2), F(Zgemm_v2), F(Hgemm), F(Cgemm3m), F(Zgemm3m),      \
		F(SgemmEx), F(CgemmEx), F(Cgemm3mEx), F(GemmEx), F(SgemmBatched), F(DgemmBatched), \
		F(CgemmBatched), F(ZgemmBatched), F(HgemmBatched), F(Cgemm3mBatched),              \
		F(SgemmStridedBatched), F(DgemmStridedBatched), F(CgemmStridedBatched),            \
		F(ZgemmStridedBatched), F(HgemmStridedBatched), F(Cgemm3mStridedBatched),          \
		F(GemmBatchedEx), F(GemmStridedBatchedEx), F(SgemmGroupedBatched),                 \
		F(DgemmGroupedBatched), F(GemmGroupedBatchedEx)

#define NUMBER(name) AT_##name, AT_##name##_64
enum { FUNCTIONS(NUMBER), NR_FUNCTIONS };

static struct import imports[NR_FUNCTIONS];

/* The real function, of the type of the one in whose place it is called. */
#define REAL(name) ((__typeof__(&(name)))math_real(&imports[AT_##name]))

static int math_mode(void *handle)
{
	int (*get)(void *, int *) = (int (*)(void *, int *))math_real(&needed[GET_MATH_MODE]);
	int mode = CUBLAS_DEFAULT_MATH;

	return get && !get(handle, &mode) ? mode : CUBLAS_DEFAULT_MATH;
}

static struct shape shape_of(void *handle, int data, int compute)
{
	if (compute == AS_DATA)
		compute = data == CUDA_R_16F ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
	return shape_new(GPU_FLOPS_ARGUMENTS,
			 shape_type_of_matrix(data, compute, math_mode(handle)));
}

static void begin(struct flops_call *call, const char *name, void *handle, int data, int compute,
		  int64_t m, int64_t n, int64_t k, int64_t batch)
{
	struct shape shape = shape_of(handle, data, compute);

	shape_add(&shape, shape_factor_of_matrix(data), m, n, k, batch);
	flops_call_is(call, name, &shape);
}

/* Groups of products of one size each. `wide`: sizes have 64 bits. */
struct groups {
	const void *m, *n, *k, *batch;
	int64_t nr;
	bool wide;
};

static int64_t at(const struct groups *g, const void *sizes, int64_t i)
{
	return g->wide ? ((const int64_t *)sizes)[i] : ((const int *)sizes)[i];
}

static void begin_groups(struct flops_call *call, const char *name, void *handle, int data,
			 int compute, const struct groups *g)
{
	struct shape shape = shape_of(handle, data, compute);

	if (g->nr < 0 || g->nr > MAX_GROUPS)
		shape.known = false;
	for (int64_t i = 0; shape.known && i < g->nr; i++)
		shape_add(&shape, shape_factor_of_matrix(data), at(g, g->m, i), at(g, g->n, i),
			  at(g, g->k, i), at(g, g->batch, i));
	flops_call_is(call, name, &shape);
}

#define BEGIN(name, ...)                                                                           \
	struct flops_call call;                                                                    \
                                                                                                   \
	if (flops_call_begins(&call, __builtin_frame_address(0)))                                  \
	begin(&call, "cublas" #name, handle, __VA_ARGS__)

#define GEMM(name, SIZE, DATA)                                                                     \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, SIZE lda, const void *b, SIZE ldb, const void *beta,        \
			void *c, SIZE ldc)                                                         \
	{                                                                                          \
		BEGIN(name, DATA, AS_DATA, m, n, k, 1);                                            \
		return flops_call_ends(&call, REAL(name)(handle, ta, tb, m, n, k, alpha, a, lda,   \
							 b, ldb, beta, c, ldc));                   \
	}

#define GEMM_EX(name, SIZE)                                                                        \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, int ad, SIZE lda, const void *b, int bd, SIZE ldb,          \
			const void *beta, void *c, int cd, SIZE ldc)                               \
	{                                                                                          \
		BEGIN(name, ad, CUBLAS_COMPUTE_32F, m, n, k, 1);                                   \
		return flops_call_ends(&call, REAL(name)(handle, ta, tb, m, n, k, alpha, a, ad,    \
							 lda, b, bd, ldb, beta, c, cd, ldc));      \
	}

#define GEMM_COMPUTE_EX(name, SIZE)                                                                \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, int ad, SIZE lda, const void *b, int bd, SIZE ldb,          \
			const void *beta, void *c, int cd, SIZE ldc, int compute, int algo)        \
	{                                                                                          \
		BEGIN(name, ad, compute, m, n, k, 1);                                              \
		return flops_call_ends(&call,                                                      \
				       REAL(name)(handle, ta, tb, m, n, k, alpha, a, ad, lda, b,   \
						  bd, ldb, beta, c, cd, ldc, compute, algo));      \
	}

#define GEMM_BATCHED(name, SIZE, DATA)                                                             \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, SIZE lda, const void *b, SIZE ldb, const void *beta,        \
			const void *c, SIZE ldc, SIZE batch)                                       \
	{                                                                                          \
		BEGIN(name, DATA, AS_DATA, m, n, k, batch);                                        \
		return flops_call_ends(&call, REAL(name)(handle, ta, tb, m, n, k, alpha, a, lda,   \
							 b, ldb, beta, c, ldc, batch));            \
	}

#define GEMM_STRIDED(name, SIZE, DATA)                                                             \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, SIZE lda, long long sa, const void *b, SIZE ldb,            \
			long long sb, const void *beta, void *c, SIZE ldc, long long sc,           \
			SIZE batch)                                                                \
	{                                                                                          \
		BEGIN(name, DATA, AS_DATA, m, n, k, batch);                                        \
		return flops_call_ends(&call,                                                      \
				       REAL(name)(handle, ta, tb, m, n, k, alpha, a, lda, sa, b,   \
						  ldb, sb, beta, c, ldc, sc, batch));              \
	}

#define GEMM_BATCHED_EX(name, SIZE)                                                                \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, int ad, SIZE lda, const void *b, int bd, SIZE ldb,          \
			const void *beta, const void *c, int cd, SIZE ldc, SIZE batch,             \
			int compute, int algo)                                                     \
	{                                                                                          \
		BEGIN(name, ad, compute, m, n, k, batch);                                          \
		return flops_call_ends(&call, REAL(name)(handle, ta, tb, m, n, k, alpha, a, ad,    \
							 lda, b, bd, ldb, beta, c, cd, ldc, batch, \
							 compute, algo));                          \
	}

#define GEMM_STRIDED_EX(name, SIZE)                                                                \
	static int name(void *handle, int ta, int tb, SIZE m, SIZE n, SIZE k, const void *alpha,   \
			const void *a, int ad, SIZE lda, long long sa, const void *b, int bd,      \
			SIZE ldb, long long sb, const void *beta, void *c, int cd, SIZE ldc,       \
			long long sc, SIZE batch, int compute, int algo)                           \
	{                                                                                          \
		BEGIN(name, ad, compute, m, n, k, batch);                                          \
		return flops_call_ends(&call, REAL(name)(handle, ta, tb, m, n, k, alpha, a, ad,    \
							 lda, sa, b, bd, ldb, sb, beta, c, cd,     \
							 ldc, sc, batch, compute, algo));          \
	}

#define BEGIN_GROUPS(name, SIZE, DATA, COMPUTE)                                                    \
	const struct groups groups = { m, n, k, size, nr, sizeof(SIZE) == 8 };                     \
	struct flops_call call;                                                                    \
                                                                                                   \
	if (flops_call_begins(&call, __builtin_frame_address(0)))                                  \
	begin_groups(&call, "cublas" #name, handle, DATA, COMPUTE, &groups)

#define GEMM_GROUPED(name, SIZE, DATA)                                                             \
	static int name(void *handle, const int *ta, const int *tb, const SIZE *m, const SIZE *n,  \
			const SIZE *k, const void *alpha, const void *a, const SIZE *lda,          \
			const void *b, const SIZE *ldb, const void *beta, const void *c,           \
			const SIZE *ldc, SIZE nr, const SIZE *size)                                \
	{                                                                                          \
		BEGIN_GROUPS(name, SIZE, DATA, AS_DATA);                                           \
		return flops_call_ends(&call, REAL(name)(handle, ta, tb, m, n, k, alpha, a, lda,   \
							 b, ldb, beta, c, ldc, nr, size));         \
	}

#define GEMM_GROUPED_EX(name, SIZE)                                                                \
	static int name(void *handle, const int *ta, const int *tb, const SIZE *m, const SIZE *n,  \
			const SIZE *k, const void *alpha, const void *a, int ad, const SIZE *lda,  \
			const void *b, int bd, const SIZE *ldb, const void *beta, const void *c,   \
			int cd, const SIZE *ldc, SIZE nr, const SIZE *size, int compute)           \
	{                                                                                          \
		BEGIN_GROUPS(name, SIZE, ad, compute);                                             \
		return flops_call_ends(&call,                                                      \
				       REAL(name)(handle, ta, tb, m, n, k, alpha, a, ad, lda, b,   \
						  bd, ldb, beta, c, cd, ldc, nr, size, compute));  \
	}

#define BOTH(FAMILY, name, ...)                                                                    \
	FAMILY(name, int, ##__VA_ARGS__)                                                           \
	FAMILY(name##_64, int64_t, ##__VA_ARGS__)

BOTH(GEMM, Sgemm_v2, CUDA_R_32F)
BOTH(GEMM, Dgemm_v2, CUDA_R_64F)
BOTH(GEMM, Cgemm_v2, CUDA_C_32F)
BOTH(GEMM, Zgemm_v2, CUDA_C_64F)
BOTH(GEMM, Hgemm, CUDA_R_16F)
BOTH(GEMM, Cgemm3m, CUDA_C_32F)
BOTH(GEMM, Zgemm3m, CUDA_C_64F)
BOTH(GEMM_EX, SgemmEx)
BOTH(GEMM_EX, CgemmEx)
BOTH(GEMM_EX, Cgemm3mEx)
BOTH(GEMM_COMPUTE_EX, GemmEx)
BOTH(GEMM_BATCHED, SgemmBatched, CUDA_R_32F)
BOTH(GEMM_BATCHED, DgemmBatched, CUDA_R_64F)
BOTH(GEMM_BATCHED, CgemmBatched, CUDA_C_32F)
BOTH(GEMM_BATCHED, ZgemmBatched, CUDA_C_64F)
BOTH(GEMM_BATCHED, HgemmBatched, CUDA_R_16F)
BOTH(GEMM_BATCHED, Cgemm3mBatched, CUDA_C_32F)
BOTH(GEMM_STRIDED, SgemmStridedBatched, CUDA_R_32F)
BOTH(GEMM_STRIDED, DgemmStridedBatched, CUDA_R_64F)
BOTH(GEMM_STRIDED, CgemmStridedBatched, CUDA_C_32F)
BOTH(GEMM_STRIDED, ZgemmStridedBatched, CUDA_C_64F)
BOTH(GEMM_STRIDED, HgemmStridedBatched, CUDA_R_16F)
BOTH(GEMM_STRIDED, Cgemm3mStridedBatched, CUDA_C_32F)
BOTH(GEMM_BATCHED_EX, GemmBatchedEx)
BOTH(GEMM_STRIDED_EX, GemmStridedBatchedEx)
BOTH(GEMM_GROUPED, SgemmGroupedBatched, CUDA_R_32F)
BOTH(GEMM_GROUPED, DgemmGroupedBatched, CUDA_R_64F)
BOTH(GEMM_GROUPED_EX, GemmGroupedBatchedEx)

#define IMPORT(name)                                                                               \
	[AT_##name] = { "cublas" #name, 0, (uintptr_t)(name) },                                    \
	[AT_##name##_64] = { "cublas" #name "_64", 0, (uintptr_t)(name##_64) }
static struct import imports[NR_FUNCTIONS] = { FUNCTIONS(IMPORT) };

const struct math_library math_cublas = {
	.file = "libcublas.so",
	.imports = imports,
	.nr = NR_FUNCTIONS,
	.needed = needed,
	.nr_needed = sizeof(needed) / sizeof(*needed),
};
