// BUILD: -fno-omit-frame-pointer -O1 -ldl
/*
 * A CUDA program that needs no toolkit: it opens libcuda.so.1 with dlopen(3) and brings its kernels
 * as PTX. It does what its arguments say, in order, and prints a line for each of them with facts
 * that only the program knows; tests/gpu/check compares.
 *
 *	empty:N         N launches of a kernel that does nothing: ns of host time for each, the
 *	                median of 100 batches
 *	spin:N:NS       N kernels of NS nanoseconds, one after the other: ms between the events
 *	                around them
 *	graph:N:NODES	a graph of NODES kernels, captured once and launched N times
 *	copy:N:BYTES	N copies in and N out
 *	alloc:N:BYTES	N allocations, then N frees
 *	pool:N:BYTES	N allocations from the device's memory pool, then N frees; the pool keeps
 *			what it has reserved until it is trimmed at the end
 *	pause:N:MS	after a kernel of another function, N times a sleep of MS ms, a kernel
 *			of 100 us and a wait for it: the ns slept, and those of all N
 *	range:N:M	N launches, M launches between cuProfilerStart and cuProfilerStop,
 *			N launches
 *	crowd:T:N	T threads that launch N times each on streams of their own
 *	threads:T:MS    T threads that launch for MS ms on streams of their own: number of launches
 *	run:MS		launches for MS ms; a line per 100 ms: time, ns per launch
 *	idle:MS		nothing
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 100
#define MAX_THREADS 64

static const char ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
			  ".visible .entry empty()\n{\n\tret;\n}\n"
			  ".visible .entry spin(.param .u64 ns)\n{\n"
			  "\t.reg .pred %p<2>;\n\t.reg .u64 %r<5>;\n"
			  "\tld.param.u64 %r1, [ns];\n\tmov.u64 %r2, %globaltimer;\n"
			  "again:\n\tmov.u64 %r3, %globaltimer;\n\tsub.u64 %r4, %r3, %r2;\n"
			  "\tsetp.lt.u64 %p1, %r4, %r1;\n\t@%p1 bra again;\n\tret;\n}\n";

static int (*cu_init)(unsigned int);
static int (*device_get)(int *, int);
static int (*retain_context)(void **, int);
static int (*set_context)(void *);
static int (*load_module)(void **, const void *);
static int (*get_function)(void **, void *, const char *);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		     void *, void **, void **);
static int (*new_stream)(void **, unsigned);
static int (*new_event)(void **, unsigned);
static int (*record_event)(void *, void *);
static int (*elapsed)(float *, void *, void *);
static int (*begin_capture)(void *, unsigned);
static int (*end_capture)(void *, void **);
static int (*instantiate)(void **, void *, unsigned long long);
static int (*launch_graph)(void *, void *);
static int (*copy_in)(uint64_t, const void *, size_t);
static int (*copy_out)(void *, uint64_t, size_t, void *);
static int (*allocate)(uint64_t *, size_t);
static int (*release)(uint64_t);
static int (*wait_for_all)(void);
static int (*default_pool)(void **, int);
static int (*set_pool)(void *, int, void *);
static int (*trim_pool)(void *, size_t);
static int (*pool_allocate)(uint64_t *, size_t, void *);
static int (*pool_release)(uint64_t, void *);
static int (*start_profiler)(void);
static int (*stop_profiler)(void);

static const struct {
	const char *name;
	void *to;
} entries[] = {
	{ "cuInit", &cu_init },
	{ "cuDeviceGet", &device_get },
	{ "cuDevicePrimaryCtxRetain", &retain_context },
	{ "cuCtxSetCurrent", &set_context },
	{ "cuModuleLoadData", &load_module },
	{ "cuModuleGetFunction", &get_function },
	{ "cuLaunchKernel", &launch },
	{ "cuStreamCreate", &new_stream },
	{ "cuEventCreate", &new_event },
	{ "cuEventRecord", &record_event },
	{ "cuEventElapsedTime", &elapsed },
	{ "cuStreamBeginCapture_v2", &begin_capture },
	{ "cuStreamEndCapture", &end_capture },
	{ "cuGraphInstantiateWithFlags", &instantiate },
	{ "cuGraphLaunch", &launch_graph },
	{ "cuMemcpyHtoD_v2", &copy_in },
	{ "cuMemcpyDtoHAsync_v2", &copy_out },
	{ "cuMemAlloc_v2", &allocate },
	{ "cuMemFree_v2", &release },
	{ "cuCtxSynchronize", &wait_for_all },
	{ "cuDeviceGetDefaultMemPool", &default_pool },
	{ "cuMemPoolSetAttribute", &set_pool },
	{ "cuMemPoolTrimTo", &trim_pool },
	{ "cuMemAllocAsync", &pool_allocate },
	{ "cuMemFreeAsync", &pool_release },
	{ "cuProfilerStart", &start_profiler },
	{ "cuProfilerStop", &stop_profiler },
};

static void *context, *empty, *spin;

/* Ends the program when a call fails: any later output would mean nothing. */
static void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "gpu_load: %s failed with %d\n", what, result);
	exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void load(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *module;
	int device;

	if (!cuda) {
		fprintf(stderr, "gpu_load: %s\n", dlerror());
		exit(77);
	}
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void *at = dlsym(cuda, entries[i].name);

		check(!at, entries[i].name);
		memcpy(entries[i].to, &at, sizeof(at));
	}
	check(cu_init(0), "cuInit");
	check(device_get(&device, 0), "cuDeviceGet");
	check(retain_context(&context, device), "cuDevicePrimaryCtxRetain");
	check(set_context(context), "cuCtxSetCurrent");
	check(load_module(&module, ptx), "cuModuleLoadData");
	check(get_function(&empty, module, "empty"), "cuModuleGetFunction");
	check(get_function(&spin, module, "spin"), "cuModuleGetFunction");
}

static __attribute__((noinline)) void launch_empty(long n, void *stream)
{
	for (long i = 0; i < n; i++)
		check(launch(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void do_empty(long n)
{
	double ns[BATCHES];
	long batch = n / BATCHES;

	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = now_ns();

		launch_empty(batch, NULL);
		ns[i] = (double)(now_ns() - begin) / (double)batch;
		check(wait_for_all(), "cuCtxSynchronize"); /* keeps the queue from filling */
	}
	qsort(ns, BATCHES, sizeof(ns[0]), compare);
	printf("empty launches=%ld median_ns=%.0f p90_ns=%.0f\n", batch * BATCHES, ns[BATCHES / 2],
	       ns[BATCHES * 9 / 10]);
}

static __attribute__((noinline)) void do_spin(long n, uint64_t ns)
{
	void *params[] = { &ns }, *before, *after;
	float ms;

	check(new_event(&before, 0) || new_event(&after, 0), "cuEventCreate");
	check(record_event(before, NULL), "cuEventRecord");
	for (long i = 0; i < n; i++)
		check(launch(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
	check(record_event(after, NULL), "cuEventRecord");
	check(wait_for_all(), "cuCtxSynchronize");
	check(elapsed(&ms, before, after), "cuEventElapsedTime");
	printf("spin launches=%ld events_ns=%.0f\n", n, (double)ms * 1e6);
}

static __attribute__((noinline)) void do_graph(long n, long nodes)
{
	void *stream, *graph, *executable;
	uint64_t begin;

	check(new_stream(&stream, 1), "cuStreamCreate");
	check(begin_capture(stream, 2), "cuStreamBeginCapture");
	launch_empty(nodes, stream);
	check(end_capture(stream, &graph), "cuStreamEndCapture");
	check(instantiate(&executable, graph, 0), "cuGraphInstantiate");
	begin = now_ns();
	for (long i = 0; i < n; i++) {
		check(launch_graph(executable, stream), "cuGraphLaunch");
		if (i % 64 == 63)
			check(wait_for_all(), "cuCtxSynchronize");
	}
	check(wait_for_all(), "cuCtxSynchronize");
	printf("graph launches=%ld kernels=%ld ns_per_launch=%.0f\n", n, n * nodes,
	       (double)(now_ns() - begin) / (double)n);
}

static void do_copy(long n, size_t bytes)
{
	char *host = calloc(1, bytes);
	uint64_t at;

	check(!host || allocate(&at, bytes), "cuMemAlloc");
	for (long i = 0; i < n; i++) {
		check(copy_in(at, host, bytes), "cuMemcpyHtoD");
		check(copy_out(host, at, bytes, NULL), "cuMemcpyDtoHAsync");
	}
	check(wait_for_all(), "cuCtxSynchronize");
	check(release(at), "cuMemFree");
	free(host);
	printf("copy in=%ld out=%ld bytes=%zu\n", n, n, 2 * (size_t)n * bytes);
}

static void do_alloc(long n, size_t bytes)
{
	uint64_t *at = calloc((size_t)n, sizeof(*at));

	for (long i = 0; i < n; i++)
		check(allocate(&at[i], bytes), "cuMemAlloc");
	for (long i = 0; i < n; i++)
		check(release(at[i]), "cuMemFree");
	free(at);
	printf("alloc calls=%ld peak_bytes=%zu\n", n, (size_t)n * bytes);
}

#define RELEASE_THRESHOLD 4 /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */

static __attribute__((noinline)) void do_pool(long n, size_t bytes)
{
	uint64_t *at = calloc((size_t)n, sizeof(*at)), keep_all = ~0ull;
	void *pool;

	if (default_pool(&pool, 0)) {
		fprintf(stderr, "gpu_load: this device has no memory pools\n");
		exit(77);
	}
	check(set_pool(pool, RELEASE_THRESHOLD, &keep_all), "cuMemPoolSetAttribute");
	for (long i = 0; i < n; i++)
		check(pool_allocate(&at[i], bytes, NULL), "cuMemAllocAsync");
	for (long i = 0; i < n; i++)
		check(pool_release(at[i], NULL), "cuMemFreeAsync");
	check(wait_for_all(), "cuCtxSynchronize");
	check(trim_pool(pool, 0), "cuMemPoolTrimTo");
	free(at);
	printf("pool calls=%ld bytes=%zu\n", n, (size_t)n * bytes);
}

static void do_idle(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t))
		;
}

/* Runs beyond the first line of do_pause(), in which therefore all idle time begins. */
static __attribute__((noinline)) void do_lead(void)
{
	uint64_t ns = 50000000;
	void *params[] = { &ns };

	check(launch(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
}

static __attribute__((noinline)) void do_pause(long n, long ms)
{
	uint64_t ns = 100000, slept = 0, begin, at;
	void *params[] = { &ns };

	check(wait_for_all(), "cuCtxSynchronize");
	begin = now_ns();
	for (long i = 0; i < n; i++) {
		at = now_ns();
		do_idle(ms);
		slept += now_ns() - at;
		check(launch(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
		check(wait_for_all(), "cuCtxSynchronize");
	}
	printf("pause launches=%ld slept_ns=%llu whole_ns=%llu\n", n, (unsigned long long)slept,
	       (unsigned long long)(now_ns() - begin));
}

static __attribute__((noinline)) void do_range(long outside, long inside)
{
	launch_empty(outside, NULL);
	check(start_profiler(), "cuProfilerStart");
	launch_empty(inside, NULL);
	check(stop_profiler(), "cuProfilerStop");
	launch_empty(outside, NULL);
	check(wait_for_all(), "cuCtxSynchronize");
	printf("range inside=%ld outside=%ld\n", inside, 2 * outside);
}

struct worker {
	pthread_t thread;
	uint64_t end_ns; /* 0: until max launches are made */
	long nr, max;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	void *stream;

	check(set_context(context), "cuCtxSetCurrent");
	check(new_stream(&stream, 1), "cuStreamCreate");
	while (w->end_ns ? now_ns() < w->end_ns : w->nr < w->max) {
		long batch = w->end_ns || w->max - w->nr > 100 ? 100 : w->max - w->nr;

		launch_empty(batch, stream);
		w->nr += batch;
		do_idle(1); /* leaves the CPU to other threads */
	}
	return NULL;
}

/* For ms milliseconds, or if those are 0 for `max` launches of each. */
static void do_threads(long n, long ms, long max)
{
	static struct worker workers[MAX_THREADS];
	long sum = 0;

	n = n < MAX_THREADS ? n : MAX_THREADS;
	for (long i = 0; i < n; i++) {
		workers[i].end_ns = ms ? now_ns() + (uint64_t)ms * 1000000 : 0;
		workers[i].max = max;
		workers[i].nr = 0;
		check(pthread_create(&workers[i].thread, NULL, work, &workers[i]), "a thread");
	}
	for (long i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].nr;
	}
	check(wait_for_all(), "cuCtxSynchronize");
	printf("threads launches=%ld\n", sum);
}

static void do_run(long ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000, begin = now_ns(), at;
	long nr = 0;

	for (;;) {
		launch_empty(100, NULL);
		check(wait_for_all(), "cuCtxSynchronize");
		nr += 100;
		at = now_ns();
		if (at - begin < 100000000)
			continue;
		printf("run at_ns=%llu ns_per_launch=%.0f\n", (unsigned long long)at,
		       (double)(at - begin) / (double)nr);
		fflush(stdout);
		if (at >= end)
			return;
		begin = at;
		nr = 0;
	}
}

static void act(const char *what)
{
	char name[16] = "";
	long n = 0, m = 0;

	sscanf(what, "%15[a-z]:%ld:%ld", name, &n, &m);
	if (!strcmp(name, "empty") && n >= BATCHES)
		do_empty(n);
	else if (!strcmp(name, "spin"))
		do_spin(n, (uint64_t)m);
	else if (!strcmp(name, "graph"))
		do_graph(n, m);
	else if (!strcmp(name, "copy"))
		do_copy(n, (size_t)m);
	else if (!strcmp(name, "alloc"))
		do_alloc(n, (size_t)m);
	else if (!strcmp(name, "threads"))
		do_threads(n, m, 0);
	else if (!strcmp(name, "crowd"))
		do_threads(n, 0, m);
	else if (!strcmp(name, "pool"))
		do_pool(n, (size_t)m);
	else if (!strcmp(name, "pause"))
		do_lead(), do_pause(n, m);
	else if (!strcmp(name, "range"))
		do_range(n, m);
	else if (!strcmp(name, "run"))
		do_run(n);
	else if (!strcmp(name, "idle"))
		do_idle(n);
	else
		check(1, what);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	load();
	for (int i = 1; i < argc; i++)
		act(argv[i]);
	puts("done");
	return 0;
}
