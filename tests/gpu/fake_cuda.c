/*
 * A libcuda.so.1 without a driver. Its work takes known times, so that tests can assert them:
 *
 *	kernel    100 ns per block; one called spin takes what its parameter says
 *	copy      1000 ns + 1 ns per 16 bytes
 *	set       500 ns + 1 ns per 64 bytes
 *	stream    one operation at a time; it begins 5 us after its call, or when the stream is free
 *	clock     real time on the tool's clock; with FAKE_CLOCK=virtual a clock that starts at
 *		  1 000 000 000 and advances 1000 ns per look, the same in every run
 *	version   13000, or FAKE_DRIVER_VERSION
 */
#include "tests/gpu/fake_cuda.h"
#include "tests/gpu/fake_gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define MAX_STREAMS 64
#define MAX_NODES 64
#define LAUNCH_NS 5000

typedef int CUresult;

struct node {
	struct fake_kernel *kernel;
	uint32_t grid[3], block[3];
	uint64_t id;
};

struct graph {
	uint32_t id, nr;
	struct node nodes[MAX_NODES];
};

static const struct fake_tool *tool; /* atomic */
static uint32_t next_correlation, next_graph;
static uint64_t next_node, virtual_now = 1000000000;
static uint64_t stream_end[MAX_STREAMS];
uint32_t fake_device;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_virtual;
static struct graph *capturing; /* launches become its nodes; one thread at a time */

API void fake_cuda_set_tool(const struct fake_tool *t)
{
	__atomic_store_n(&tool, t, __ATOMIC_RELEASE);
}

API const struct fake_tool *fake_cuda_tool(void)
{
	return __atomic_load_n(&tool, __ATOMIC_ACQUIRE);
}

uint64_t fake_now(void)
{
	struct timespec ts;

	if (is_virtual)
		return __atomic_add_fetch(&virtual_now, 1000, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void fake_enter(struct fake_call *c)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	c->correlation = __atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED);
	if (t)
		t->api(0, c->cbid, c->name, c->correlation, &c->data, &c->result);
}

int fake_leave(struct fake_call *c)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	if (t)
		t->api(1, c->cbid, c->name, c->correlation, &c->data, &c->result);
	return c->result;
}

/*
 * How far the tool's clock is ahead of ours. The quickest of a few tries: the thread may lose its
 * CPU.
 */
static uint64_t ahead(const struct fake_tool *t)
{
	uint64_t least = UINT64_MAX, ret = 0;

	for (int i = 0; i < 10 && least > 1000; i++) {
		uint64_t before = fake_now(), theirs = t->now(), took = fake_now() - before;

		if (took < least)
			ret = theirs - before;
		least = took < least ? took : least;
	}
	return ret;
}

void fake_emit(struct fake_op *op)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	if (!t || !t->op)
		return;
	if (!is_virtual) { /* times are on the tool's clock */
		uint64_t ns = ahead(t);

		op->start += ns;
		op->end += ns;
	}
	t->op(op);
}

/* Puts an operation of `ns` at the end of its stream. */
static void schedule(struct fake_op *op, void *stream, uint64_t ns)
{
	uint32_t s = (uint32_t)(uintptr_t)stream % MAX_STREAMS;
	uint64_t ready = fake_now() + LAUNCH_NS;

	pthread_mutex_lock(&device_lock);
	op->start = stream_end[s] > ready ? stream_end[s] : ready;
	op->end = op->start + ns;
	stream_end[s] = op->end;
	pthread_mutex_unlock(&device_lock);
	op->stream = s + 7; /* as CUPTI numbers the default stream */
	op->device = fake_device;
	op->context = fake_device + 1;
}

static uint64_t wait_until(uint64_t end)
{
	uint64_t at = fake_now();

	while (!is_virtual && at < end) {
		struct timespec t = { 0, (long)(end - at > 1000000 ? 1000000 : end - at) };

		nanosleep(&t, NULL);
		at = fake_now();
	}
	return at > end ? at : end;
}

/* In a forked child the driver refuses to work; here no tool sees the child's calls. */
static void forget_tool(void)
{
	tool = NULL;
}

static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*init)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	if (path && *path && !init)
		fprintf(stderr, "fake libcuda: cannot load '%s': %s\n", path, dlerror());
	pthread_atfork(NULL, NULL, forget_tool);
	if (init)
		init();
}

API CUresult cuInit(unsigned int flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *clock = getenv("FAKE_CLOCK");

	(void)flags;
	is_virtual = clock && !strcmp(clock, "virtual");
	pthread_once(&once, load_injection);
	return 0;
}

API CUresult cuDriverGetVersion(int *version)
{
	const char *told = getenv("FAKE_DRIVER_VERSION");

	*version = told ? atoi(told) : 13000;
	return 0;
}

/* An event is the time at which the work before it ends. */
API CUresult cuEventRecord(void *event, void *stream)
{
	uint64_t end = stream_end[(uintptr_t)stream % MAX_STREAMS], ready = fake_now() + LAUNCH_NS;

	*(uint64_t *)event = end > ready ? end : ready;
	return 0;
}

API CUresult cuCtxSetDevice(uint32_t d) /* not in CUDA: selects the device of later calls */
{
	fake_device = d;
	return 0;
}

API CUresult cuModuleGetFunction(void **function, void *module, const char *name)
{
	struct fake_kernel *k = malloc(sizeof(*k));

	(void)module;
	k->name = strdup(name);
	k->registers = 32 + (uint32_t)strlen(name) % 8;
	*function = k;
	return 0;
}

static uint64_t kernel_ns(const struct fake_kernel *k, const uint32_t grid[3], void **params)
{
	if (params && !strcmp(k->name, "spin"))
		return *(const uint64_t *)params[0];
	return 100ull * grid[0] * grid[1] * grid[2];
}

static void run_kernel(struct fake_op *op, const struct fake_kernel *k, const uint32_t grid[3],
		       const uint32_t block[3], void *stream, void **params)
{
	op->kind = 10;
	op->name = k->name;
	op->registers = k->registers;
	for (int i = 0; i < 3; i++) {
		op->grid[i] = grid[i];
		op->block[i] = block[i];
	}
	schedule(op, stream, kernel_ns(k, grid, params));
	fake_emit(op);
}

/* Not in CUDA: adds a kernel with that many blocks. */
API CUresult cuGraphAddFakeKernel(void *graph, void *function, uint32_t blocks)
{
	struct graph *g = graph;
	struct node *n = &g->nodes[g->nr];

	if (g->nr == MAX_NODES)
		return 2;
	g->nr++;
	n->kernel = function;
	n->grid[0] = blocks;
	n->grid[1] = n->grid[2] = n->block[0] = n->block[1] = n->block[2] = 1;
	n->id = __atomic_add_fetch(&next_node, 1, __ATOMIC_RELAXED) | (uint64_t)g->id << 32;
	return 0;
}

API __attribute__((noinline)) CUresult cuLaunchKernel(void *function, uint32_t gx, uint32_t gy,
						      uint32_t gz, uint32_t bx, uint32_t by,
						      uint32_t bz, uint32_t shared, void *stream,
						      void **params, void **extra)
{
	struct fake_call c = { .name = "cuLaunchKernel", .cbid = 307 };
	const uint32_t grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
	struct fake_op op = { .shared = shared };

	(void)extra;
	fake_enter(&c);
	op.correlation = c.correlation;
	if (capturing)
		c.result = cuGraphAddFakeKernel(capturing, function, gx * gy * gz);
	else
		run_kernel(&op, function, grid, block, stream, params);
	return fake_leave(&c);
}

API CUresult cuGraphCreate(void **graph, unsigned int flags)
{
	struct graph *g = calloc(1, sizeof(*g));

	(void)flags;
	g->id = __atomic_add_fetch(&next_graph, 1, __ATOMIC_RELAXED);
	*graph = g;
	return 0;
}

API CUresult cuStreamBeginCapture_v2(void *stream, unsigned int mode)
{
	void *graph;

	(void)stream;
	(void)mode;
	cuGraphCreate(&graph, 0);
	capturing = graph;
	return 0;
}

API CUresult cuStreamEndCapture(void *stream, void **graph)
{
	(void)stream;
	*graph = capturing;
	capturing = NULL;
	return 0;
}

API CUresult cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags)
{
	(void)flags;
	*executable = graph;
	return 0;
}

API CUresult cuGraphLaunch(void *graph, void *stream)
{
	struct fake_call c = { .name = "cuGraphLaunch", .cbid = 514 };
	const struct graph *g = graph;
	struct fake_op whole = { .kind = 51, .graph = g->id, .graph_nodes = g->nr };
	uint64_t total = 0;

	fake_enter(&c);
	whole.correlation = c.correlation;
	for (uint32_t i = 0; i < g->nr; i++) {
		const struct node *n = &g->nodes[i];
		struct fake_op op = { .correlation = c.correlation,
				      .graph = g->id,
				      .graph_node = n->id };

		run_kernel(&op, n->kernel, n->grid, n->block, stream, NULL);
		total += 100ull * n->grid[0];
	}
	schedule(&whole, stream, 0);
	whole.start -= total;
	fake_emit(&whole);
	return fake_leave(&c);
}

static CUresult copy(struct fake_call *c, uint32_t kind, uint64_t bytes, void *stream, bool wait)
{
	struct fake_op op = { .kind = 1, .copy_kind = kind, .bytes = bytes };

	fake_enter(c);
	op.correlation = c->correlation;
	schedule(&op, stream, 1000 + bytes / 16);
	if (wait)
		wait_until(op.end);
	fake_emit(&op);
	return fake_leave(c);
}

API CUresult cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	struct fake_call c = { .name = "cuMemcpyHtoD_v2", .cbid = 276 };

	(void)to;
	(void)from;
	return copy(&c, 1, bytes, NULL, true);
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	struct fake_call c = { .name = "cuMemcpyDtoHAsync_v2", .cbid = 281 };

	(void)to;
	(void)from;
	return copy(&c, 2, bytes, stream, false);
}

API CUresult cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
			       size_t bytes, void *stream)
{
	struct fake_call c = { .name = "cuMemcpyPeerAsync", .cbid = 319 };
	struct fake_op op = { .kind = 22, .copy_kind = 10, .bytes = bytes };

	(void)to;
	(void)from;
	fake_enter(&c);
	op.correlation = c.correlation;
	op.source_device = (uint32_t)(uintptr_t)from_context;
	op.destination_device = (uint32_t)(uintptr_t)to_context;
	schedule(&op, stream, 1000 + bytes / 16);
	fake_emit(&op);
	return fake_leave(&c);
}

API CUresult cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
	struct fake_call c = { .name = "cuMemsetD8Async", .cbid = 221 };
	struct fake_op op = { .kind = 2, .bytes = bytes, .value = value };

	(void)to;
	fake_enter(&c);
	op.correlation = c.correlation;
	schedule(&op, stream, 500 + bytes / 64);
	fake_emit(&op);
	return fake_leave(&c);
}

static CUresult synchronize(struct fake_call *c, uint32_t type, uint32_t first, uint32_t last)
{
	struct fake_op op = { .kind = 38, .type = type };
	uint64_t end = 0;

	fake_enter(c);
	op.correlation = c->correlation;
	op.start = fake_now();
	pthread_mutex_lock(&device_lock);
	for (uint32_t i = first; i <= last; i++)
		end = stream_end[i] > end ? stream_end[i] : end;
	pthread_mutex_unlock(&device_lock);
	op.end = wait_until(end);
	op.context = fake_device + 1;
	op.stream = first == last ? first + 7 : 0xffffffff;
	fake_emit(&op);
	return fake_leave(c);
}

API CUresult cuStreamSynchronize(void *stream)
{
	struct fake_call c = { .name = "cuStreamSynchronize", .cbid = 126 };
	uint32_t s = (uint32_t)(uintptr_t)stream % MAX_STREAMS;

	return synchronize(&c, 3, s, s);
}

API CUresult cuCtxSynchronize(void)
{
	struct fake_call c = { .name = "cuCtxSynchronize", .cbid = 17 };

	return synchronize(&c, 4, 0, MAX_STREAMS - 1);
}

static CUresult profiler(const char *name, uint32_t cbid)
{
	struct fake_call c = { .name = name, .cbid = cbid };

	fake_enter(&c);
	return fake_leave(&c);
}

API CUresult cuProfilerStart(void)
{
	return profiler("cuProfilerStart", 308);
}

API CUresult cuProfilerStop(void)
{
	return profiler("cuProfilerStop", 309);
}
