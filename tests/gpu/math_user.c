/*
 * A program that multiplies matrices and convolves, through the fakes of fake_math.c. Each argument
 * is one thing to do, NAME:N times; what each asks for is beside it.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

int cuInit(unsigned int);
int cuCtxSynchronize(void);
int cuStreamBeginCapture_v2(void *, unsigned int);
int cuStreamEndCapture(void *, void **);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphLaunch(void *, void *);
int cublasSetMathMode(void *, int);
#define GEMM(name, SIZE)                                                                           \
	int name(void *, int, int, SIZE, SIZE, SIZE, const void *, const void *, SIZE,             \
		 const void *, SIZE, const void *, void *, SIZE)
GEMM(cublasSgemm_v2, int);
GEMM(cublasSgemm_v2_64, int64_t);
GEMM(cublasDgemm_v2, int);
GEMM(cublasCgemm_v2, int);
GEMM(cublasZgemm_v2, int);
GEMM(cublasHgemm, int);
int cublasGemmEx(void *, int, int, int, int, int, const void *, const void *, int, int,
		 const void *, int, int, const void *, void *, int, int, int, int);
int cublasSgemmStridedBatched(void *, int, int, int, int, int, const void *, const void *, int,
			      long long, const void *, int, long long, const void *, void *, int,
			      long long, int);
int cublasSgemmBatched(void *, int, int, int, int, int, const void *, const void *const *, int,
		       const void *const *, int, const void *, void *const *, int, int);
int cublasSgemmGroupedBatched(void *, const int *, const int *, const int *, const int *,
			      const int *, const void *, const void *const *, const int *,
			      const void *const *, const int *, const void *, void *const *,
			      const int *, int, const int *);
int cublasLtMatmul(void *, void *, const void *, const void *, void *, const void *, void *,
		   const void *, const void *, void *, void *, void *, const void *, void *, size_t,
		   void *);
#define CONVOLUTION(name)                                                                          \
	int name(void *, const void *, const void *, const void *, const void *, const void *,     \
		 const void *, int, void *, size_t, const void *, const void *, void *)
CONVOLUTION(cudnnConvolutionForward);
CONVOLUTION(cudnnConvolutionBackwardData);
CONVOLUTION(cudnnConvolutionBackwardFilter);
int cudnnBackendCreateDescriptor(int, void **);
int cudnnBackendDestroyDescriptor(void *);
int cudnnBackendSetAttribute(void *, int, int, int64_t, const void *);
int cudnnBackendGetAttribute(void *, int, int, int64_t, int64_t *, void *);
int cudnnBackendExecute(void *, void *, void *);

struct layout {
	uint32_t type, order;
	uint64_t rows, columns;
	int32_t batch;
};

struct descriptor {
	int data, nr, sizes[8];
};

static volatile int results;

static NOINLINE void sgemm(void) /* 2 * 10 * 20 * 30 = 12000 */
{
	results |= cublasSgemm_v2(NULL, 0, 0, 10, 20, 30, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void sgemm64(void) /* 2 * 3e9 * 4 * 5 = 120000000000 */
{
	results |= cublasSgemm_v2_64(NULL, 0, 0, 3000000000, 4, 5, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void dgemm(void) /* 2 * 2 * 3 * 4 = 48 */
{
	results |= cublasDgemm_v2(NULL, 0, 0, 2, 3, 4, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void cgemm(void) /* 8 * 2 * 3 * 4 = 192 */
{
	results |= cublasCgemm_v2(NULL, 0, 0, 2, 3, 4, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void zgemm(void) /* the same */
{
	results |= cublasZgemm_v2(NULL, 0, 0, 2, 3, 4, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void hgemm(void) /* 2 * 8 * 8 * 8 = 1024 */
{
	results |= cublasHgemm(NULL, 0, 0, 8, 8, 8, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void nested(void) /* in BF16: 2 * 16 * 16 * 16 = 8192; its inner call counts not */
{
	results |= cublasGemmEx(NULL, 0, 0, 16, 16, 16, 0, 0, 14, 1, 0, 14, 1, 0, 0, 14, 1, 68, 0);
}

static NOINLINE void strided(void) /* 2 * 10 * 20 * 30 * 7 = 84000 */
{
	results |= cublasSgemmStridedBatched(NULL, 0, 0, 10, 20, 30, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1,
					     1, 7);
}

static NOINLINE void batched(void) /* 2 * 10 * 20 * 30 * 3 = 36000 */
{
	results |= cublasSgemmBatched(NULL, 0, 0, 10, 20, 30, 0, 0, 1, 0, 1, 0, 0, 1, 3);
}

static NOINLINE void grouped(void) /* 2 * (2 * 3 * 4 * 5 + 10 * 10 * 10 * 2) = 4240 */
{
	static const int m[] = { 2, 10 }, n[] = { 3, 10 }, k[] = { 4, 10 }, size[] = { 5, 2 };

	results |= cublasSgemmGroupedBatched(NULL, 0, 0, m, n, k, 0, 0, 0, 0, 0, 0, 0, 0, 2, size);
}

static NOINLINE void matmul(void) /* A transposed, FP8: 2 * 100 * 200 * 50 * 3 = 6000000 */
{
	int32_t desc[8] = { 68, 0, 0, 1 };
	struct layout a = { 28, 0, 50, 100, 3 }, d = { 14, 0, 100, 200, 3 };

	results |= cublasLtMatmul(NULL, desc, 0, 0, &a, 0, 0, 0, 0, 0, 0, &d, 0, 0, 0, 0);
}

static NOINLINE void opaque(void) /* its layouts cannot be read */
{
	int32_t desc[8] = { 68 };
	struct layout a = { 0, 99, 50, 100, 3 }, d = { 0, 99, 100, 200, 3 };

	results |= cublasLtMatmul(NULL, desc, 0, 0, &a, 0, 0, 0, 0, 0, 0, &d, 0, 0, 0, 0);
}

static NOINLINE void negative(void)
{
	results |= cublasSgemm_v2(NULL, 0, 0, -10, 20, 30, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void huge(void) /* 2 * 2^62 * 2^62 * 2 */
{
	results |= cublasSgemm_v2_64(NULL, 0, 0, 1ll << 62, 1ll << 62, 2, 0, 0, 1, 0, 1, 0, 0, 1);
}

static NOINLINE void large(void) /* 2 * 2^62 = 2^63: two of them are 2^64 */
{
	results |= cublasSgemm_v2_64(NULL, 0, 0, 1ll << 62, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1);
}

/* 2 * N 2 * K 8 * P 5 * Q 6 * C/groups 4 * R 3 * S 3 = 34560, in three directions */
static const struct descriptor output = { 0, 4, { 2, 8, 5, 6 } }, input = { 0, 4, { 2, 16, 7, 8 } },
			       filter = { 0, 4, { 8, 4, 3, 3 } };
static const int tf32 = 0, plain = 3;

static NOINLINE void forward(void)
{
	results |= cudnnConvolutionForward(NULL, 0, &input, 0, &filter, 0, &plain, 0, 0, 0, 0,
					   &output, 0);
}

static NOINLINE void backward(void)
{
	results |= cudnnConvolutionBackwardData(NULL, 0, &filter, 0, &output, 0, &tf32, 0, 0, 0, 0,
						&input, 0);
	results |= cudnnConvolutionBackwardFilter(NULL, 0, &input, 0, &output, 0, &tf32, 0, 0, 0, 0,
						  &filter, 0);
}

static void *make(int type)
{
	void *descriptor;

	cudnnBackendCreateDescriptor(type, &descriptor);
	return descriptor;
}

static void set(void *descriptor, int attribute, void *to)
{
	cudnnBackendSetAttribute(descriptor, attribute, 15, 1, &to);
}

static void *tensor(int data, const int64_t *sizes)
{
	void *t = make(17);

	cudnnBackendSetAttribute(t, 901, 1, 1, &data);
	cudnnBackendSetAttribute(t, 902, 3, 4, sizes);
	return t;
}

/* The plan of a convolution in FP16, 34560 as above, and an activation. */
static void *make_plan(void)
{
	static const int64_t out[] = { 2, 8, 5, 6 }, in[] = { 2, 16, 7, 8 }, w[] = { 8, 4, 3, 3 };
	void *x = tensor(2, in), *f = tensor(2, w), *y = tensor(2, out), *operation = make(10);
	void *graph = make(15), *heuristic = make(4), *config = make(3), *plan = make(5);
	void *operations[] = { operation, make(13) };
	int64_t nr;

	set(operation, 704, x);
	set(operation, 703, f);
	set(operation, 705, y);
	cudnnBackendSetAttribute(graph, 801, 15, 2, operations);
	set(heuristic, 201, graph);
	cudnnBackendGetAttribute(heuristic, 202, 15, 1, &nr, &config);
	set(plan, 401, config);
	for (int i = 0; i < 2; i++)
		cudnnBackendDestroyDescriptor(operations[i]);
	cudnnBackendDestroyDescriptor(x);
	cudnnBackendDestroyDescriptor(f);
	cudnnBackendDestroyDescriptor(y);
	cudnnBackendDestroyDescriptor(graph);
	return plan;
}

static NOINLINE void planned(void)
{
	static void *plan;

	if (!plan)
		plan = make_plan();
	results |= cudnnBackendExecute(NULL, plan, NULL);
}

static NOINLINE void unplanned(void) /* a plan that was made from nothing known */
{
	static void *plan;

	if (!plan)
		plan = make(5);
	results |= cudnnBackendExecute(NULL, plan, NULL);
}

/* Captures sgemm and nested once, and runs the graph n times. */
static NOINLINE void replay(long n)
{
	void *graph, *executable;

	cuStreamBeginCapture_v2(NULL, 0);
	sgemm();
	nested();
	cuStreamEndCapture(NULL, &graph);
	cuGraphInstantiateWithFlags(&executable, graph, 0);
	for (long i = 0; i < n; i++)
		cuGraphLaunch(executable, NULL);
	results |= 0;
}

static void mark(const char *function, const char *name)
{
	void *nvtx =
		getenv("NVTX_USER") ? dlopen(getenv("NVTX_USER"), RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*call)(const char *) = nvtx ? (int (*)(const char *))dlsym(nvtx, function) : NULL;

	if (call)
		call(name);
}

static const struct {
	const char *name;
	void (*run)(void);
} things[] = {
	{ "sgemm", sgemm },	    { "sgemm64", sgemm64 },   { "dgemm", dgemm },
	{ "cgemm", cgemm },	    { "zgemm", zgemm },	      { "hgemm", hgemm },
	{ "nested", nested },	    { "strided", strided },   { "batched", batched },
	{ "grouped", grouped },	    { "matmul", matmul },     { "opaque", opaque },
	{ "negative", negative },   { "huge", huge },	      { "large", large },
	{ "forward", forward },	    { "backward", backward }, { "planned", planned },
	{ "unplanned", unplanned },
};

static NOINLINE void train(void (*run)(void), long n)
{
	for (long i = 0; i < n; i++)
		run();
	results |= 0;
}

int main(int argc, char **argv)
{
	cuInit(0);
	for (int i = 1; i < argc; i++) {
		size_t length = strcspn(argv[i], ":");
		long n = argv[i][length] ? atol(argv[i] + length + 1) : 1;

		if (!strncmp(argv[i], "replay", length))
			replay(n);
		if (!strncmp(argv[i], "tf32", length))
			cublasSetMathMode(NULL, 3);
		if (!strncmp(argv[i], "idle", length))
			usleep((useconds_t)n * 1000);
		if (!strncmp(argv[i], "push", length))
			mark("push_range", argv[i] + length + 1);
		if (!strncmp(argv[i], "pop", length))
			mark("pop_range", NULL);
		for (size_t k = 0; k < sizeof(things) / sizeof(*things); k++)
			if (strlen(things[k].name) == length &&
			    !strncmp(argv[i], things[k].name, length))
				train(things[k].run, n);
	}
	cuCtxSynchronize();
	return 0;
}
