/*
 * A libcuda.so.1 without a driver. Its work takes known times, so that tests can assert them:
 *
 *	kernel    100 ns per block; one called spin takes what its parameter says
 *	copy      1000 ns + 1 ns per 16 bytes
 *	set       500 ns + 1 ns per 64 bytes
 *	nccl...   what is in fake_collective.c
 *	stream    one operation at a time; it begins 5 us after its call, or when the stream is free
 *	version   13000, or FAKE_DRIVER_VERSION
 *	clock     CLOCK_MONOTONIC
 *
 * In the realistic model every call comes through the runtime API: cudaLaunchKernel() calls
 * cuLaunchKernel(), and a tool sees both, with one correlation id.
 */
#include "tests/gpu/fake_cuda.h"
#include "tests/gpu/fake_collective.h"
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
#define IN_DRIVER_NS 3000 /* of a launch, in the realistic model */

typedef int CUresult;

struct node {
	uint64_t id; /* first: fake_tool.node() */
	struct fake_kernel *kernel;
	uint32_t grid[3], block[3];
};

struct graph {
	uint32_t id, nr;
	struct node nodes[MAX_NODES];
};

static const struct fake_tool *tool; /* atomic */
static uint32_t next_correlation, next_graph;
static uint64_t next_node;
static uint64_t stream_end[MAX_STREAMS];
uint32_t fake_device;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_realistic;
static uint32_t in_flight;	  /* atomic */
static struct fake_op collective; /* is under way, if its kind is not 0 */
/* Launches into that stream become nodes of that graph, of one thread at a time. */
static struct graph *capturing;
static void *captured_stream;

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

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The id of the runtime function that a program calls for a driver function, 0 = none. */
static uint32_t runtime_cbid(uint32_t cbid)
{
	static const struct {
		uint32_t driver, runtime;
	} calls[] = {
		{ 17, 165 }, { 126, 131 }, { 221, 51 },	 { 243, 20 },  { 245, 22 },  { 276, 31 },
		{ 281, 41 }, { 307, 211 }, { 308, 171 }, { 309, 172 }, { 319, 162 }, { 514, 311 },
	};

	for (size_t i = 0; is_realistic && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].driver == cbid)
			return calls[i].runtime;
	return 0;
}

static bool is_launch(const struct fake_call *c)
{
	return c->cbid == 307 || c->cbid == 514;
}

/* How many threads are in the driver with a launch: between the tool's two callbacks. */
API uint32_t fake_cuda_in_flight(void)
{
	return __atomic_load_n(&in_flight, __ATOMIC_ACQUIRE);
}

void fake_enter(struct fake_call *c)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);
	uint32_t runtime = runtime_cbid(c->cbid);

	c->correlation = __atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED);
	if (t && runtime)
		t->api(2, 0, runtime, c->correlation, &c->runtime_data, &c->result);
	if (t)
		t->api(1, 0, c->cbid, c->correlation, &c->data, &c->result);
	__atomic_fetch_add(&in_flight, is_launch(c), __ATOMIC_ACQ_REL);
}

int fake_leave(struct fake_call *c)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);
	uint32_t runtime = runtime_cbid(c->cbid);

	if (is_realistic && is_launch(c))
		for (uint64_t until = fake_now() + IN_DRIVER_NS; fake_now() < until;)
			;
	__atomic_fetch_sub(&in_flight, is_launch(c), __ATOMIC_ACQ_REL);
	if (t)
		t->api(1, 1, c->cbid, c->correlation, &c->data, &c->result);
	t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE); /* the callback may have removed it */
	if (t && runtime)
		t->api(2, 1, runtime, c->correlation, &c->runtime_data, &c->result);
	return c->result;
}

void fake_emit(struct fake_op *op)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	if (t && t->op)
		t->op(op);
}

/* Waits for the other ranks, if a collective is under way. */
static void end_collective(void)
{
	if (!collective.kind)
		return;
	collective.end = fake_collective_end();
	pthread_mutex_lock(&device_lock);
	stream_end[collective.stream - 7] = collective.end;
	pthread_mutex_unlock(&device_lock);
	fake_emit(&collective);
	collective.kind = 0;
}

/* Puts an operation of `ns` at the end of its stream. */
static void schedule(struct fake_op *op, void *stream, uint64_t ns)
{
	uint32_t s = (uint32_t)(uintptr_t)stream % MAX_STREAMS;
	uint64_t ready;

	end_collective();
	ready = fake_now() + LAUNCH_NS;
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

	while (at < end) {
		struct timespec t = { 0, (long)(end - at > 1000000 ? 1000000 : end - at) };

		nanosleep(&t, NULL);
		at = fake_now();
	}
	return at;
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

	(void)flags;
	is_realistic = getenv("FAKE_REALISTIC") != NULL;
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

	k->cubin_crc = fake_module_crc(module);
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
	op->cubin_crc = k->cubin_crc;
	for (int i = 0; i < 3; i++) {
		op->grid[i] = grid[i];
		op->block[i] = block[i];
	}
	schedule(op, stream, kernel_ns(k, grid, params));
	if (fake_collective_is(k->name, params)) {
		collective = *op;
		fake_collective_arrive(params[0], op);
		return;
	}
	fake_emit(op);
}

static void tell_node(uint32_t cbid, const struct node *node, const struct node *original)
{
	const struct fake_tool *t = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	if (t && t->node)
		t->node(cbid, &node->id, original ? &original->id : NULL);
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
	tell_node(13, n, NULL);
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
	if (capturing && stream == captured_stream)
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
	struct fake_call c = { .name = "cuStreamBeginCapture_v2", .cbid = 539 };
	void *graph;

	(void)mode;
	fake_enter(&c);
	cuGraphCreate(&graph, 0);
	captured_stream = stream;
	capturing = graph;
	return fake_leave(&c);
}

API CUresult cuStreamEndCapture(void *stream, void **graph)
{
	struct fake_call c = { .name = "cuStreamEndCapture", .cbid = 497 };

	(void)stream;
	fake_enter(&c);
	*graph = capturing;
	capturing = NULL;
	return fake_leave(&c);
}

API CUresult cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags)
{
	const struct graph *from = graph;
	struct graph *to = malloc(sizeof(*to));

	(void)flags;
	*to = *from;
	to->id = __atomic_add_fetch(&next_graph, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < to->nr; i++) {
		to->nodes[i].id = __atomic_add_fetch(&next_node, 1, __ATOMIC_RELAXED) |
				  (uint64_t)to->id << 32;
		tell_node(20, &to->nodes[i], &from->nodes[i]);
	}
	*executable = to;
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
	end_collective();
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
