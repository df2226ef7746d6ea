// BUILD: -no-pie -fno-omit-frame-pointer -O1 -ldl
/*
 * A program that uses a GPU through whatever libcuda.so.1 the loader finds; tests/gpu gives it a
 * fake one. Its true profile is known: each argument is one thing to do, in order.
 *
 *	launch:N	N launches of gemm_kernel (grid 10) by train > forward > launch_gemm
 *	mixed:N		N times: copy in, gemm, relu, copy out, set, synchronise
 *	graph:N		N launches of a graph of 5 kernels
 *	alloc:N		N allocations of 1 MiB, and N/2 frees
 *	pool:N          N allocations of 1 MiB from a pool, all but one freed, then the pool trimmed
 *	threads:N	4 threads that launch N times each, on streams of their own
 *	crowd:N		32 threads that launch N times each
 *	storm:N		N threads that launch until the file named by END_FILE appears
 *	deep:N		a launch from N frames deep
 *	peer		a copy from device 1 to device 0, and a launch on device 1
 *	captured:MS	cuProfilerStart, spin:MS, cuProfilerStop
 *	profiler	cuProfilerStart, a launch, cuProfilerStop
 *	fork		forks a child that launches, and waits for it
 *	competitor:N	loads the profiler that COMPETITOR names, which records N launches
 *			(tests/gpu/competing_profiler.c)
 *	beside:N	the same while 4 threads launch
 *	quit		_exit(), without flushing anything
 *	long:MS		a launch of a kernel that runs that long, on a stream of its own
 *	paced:MS	a launch every 10 ms for that long, without waiting for any; it prints when
 *	idle:MS		nothing
 *	rate:MS		100 launches each ms
 *	code:WHAT	loads code, "FAKE-CUBIN WHAT", in which kernels are from then on
 *	context:N	N launches in a context of their own, which is made and destroyed
 *	spin:MS		launches for that long; the file that SPIN_COUNT names gets how often
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_driver.h"

#define MAX_THREADS 32

static int (*init)(unsigned int);
static int (*create_context)(void **, unsigned int, int), (*destroy_context)(void *);
static int (*load_module)(void **, const void *);
static int (*set_device)(uint32_t);
static int (*get_function)(void **, void *, const char *);
static int (*launch_kernel)(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
			    uint32_t, void *, void **, void **);
static int (*graph_create)(void **, unsigned int);
static int (*graph_add)(void *, void *, uint32_t);
static int (*graph_launch)(void *, void *);
static int (*copy_in)(uint64_t, const void *, size_t);
static int (*copy_out)(void *, uint64_t, size_t, void *);
static int (*copy_peer)(uint64_t, void *, uint64_t, void *, size_t, void *);
static int (*set_memory)(uint64_t, unsigned char, size_t, void *);
static int (*alloc_memory)(uint64_t *, size_t);
static int (*free_memory)(uint64_t, size_t);
static int (*pool_alloc)(uint64_t *, size_t, void *);
static int (*pool_free)(uint64_t, size_t);
static int (*pool_trim)(void);
static int (*sync_stream)(void *);
static int (*sync_context)(void);
static int (*profiler_start)(void), (*profiler_stop)(void);
static void *gemm, *relu, *spinning;

static const struct cuda_entry entries[] = {
	{ "cuInit", &init },
	{ "cuCtxCreate_v2", &create_context },
	{ "cuCtxDestroy_v2", &destroy_context },
	{ "cuModuleLoadData", &load_module },
	{ "cuCtxSetDevice", &set_device },
	{ "cuModuleGetFunction", &get_function },
	{ "cuLaunchKernel", &launch_kernel },
	{ "cuGraphCreate", &graph_create },
	{ "cuGraphAddFakeKernel", &graph_add },
	{ "cuGraphLaunch", &graph_launch },
	{ "cuMemcpyHtoD_v2", &copy_in },
	{ "cuMemcpyDtoHAsync_v2", &copy_out },
	{ "cuMemcpyPeerAsync", &copy_peer },
	{ "cuMemsetD8Async", &set_memory },
	{ "cuMemAlloc_v2", &alloc_memory },
	{ "cuMemFreeFake", &free_memory },
	{ "cuMemAllocAsync", &pool_alloc },
	{ "cuMemFreeAsyncFake", &pool_free },
	{ "cuMemPoolTrimFake", &pool_trim },
	{ "cuStreamSynchronize", &sync_stream },
	{ "cuCtxSynchronize", &sync_context },
	{ "cuProfilerStart", &profiler_start },
	{ "cuProfilerStop", &profiler_stop },
};

/* Keeps a call from being a tail call: tests assert the frames of this program. */
static volatile int calls;

static inline __attribute__((always_inline)) void called(void)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void load(void)
{
	load_cuda(entries, sizeof(entries) / sizeof(entries[0]));
	init(0);
	get_function(&gemm, NULL, "gemm_kernel");
	get_function(&relu, NULL, "relu_kernel");
	get_function(&spinning, NULL, "spin");
}

static NOINLINE void launch_gemm(void *stream)
{
	launch_kernel(gemm, 10, 1, 1, 128, 1, 1, 4096, stream, NULL, NULL);
	called();
}

static NOINLINE void launch_relu(void *stream)
{
	launch_kernel(relu, 2, 3, 1, 64, 2, 1, 0, stream, NULL, NULL);
	called();
}

static NOINLINE void launch_long(long ms)
{
	uint64_t ns = (uint64_t)ms * 1000000;
	void *params[] = { &ns };

	launch_kernel(spinning, 1, 1, 1, 32, 1, 1, 0, (void *)63, params, NULL);
	called();
}

static NOINLINE void forward(void *stream)
{
	launch_gemm(stream);
	called();
}

static NOINLINE void train(long n, void *stream)
{
	for (long i = 0; i < n; i++)
		forward(stream);
	called();
}

static NOINLINE void mixed(long n)
{
	static char host[4096];

	for (long i = 0; i < n; i++) {
		copy_in(0x1000, host, sizeof(host));
		launch_gemm(NULL);
		launch_relu(NULL);
		copy_out(host, 0x1000, 1600, NULL);
		set_memory(0x1000, 7, 6400, NULL);
		sync_stream(NULL);
	}
	called();
}

static NOINLINE void build_graph(void *graph)
{
	for (uint32_t i = 0; i < 5; i++)
		graph_add(graph, i % 2 ? relu : gemm, 10 + i);
	called();
}

static NOINLINE void replay(long n)
{
	void *graph;

	graph_create(&graph, 0);
	build_graph(graph);
	for (long i = 0; i < n; i++)
		graph_launch(graph, NULL);
	called();
}

static NOINLINE void allocate(long n)
{
	uint64_t at[1024];

	for (long i = 0; i < n && i < 1024; i++)
		alloc_memory(&at[i], 1 << 20);
	for (long i = 0; i < n / 2 && i < 1024; i++)
		free_memory(at[i], 1 << 20);
	called();
}

static NOINLINE void allocate_from_pool(long n)
{
	uint64_t at[1024];

	for (long i = 0; i < n && i < 1024; i++)
		pool_alloc(&at[i], 1 << 20, NULL);
	for (long i = 1; i < n && i < 1024; i++)
		pool_free(at[i], 1 << 20);
	pool_trim();
	called();
}

struct job {
	long n; /* launches; 0 = until the end file appears */
	uintptr_t stream;
};

static int is_over(void)
{
	const char *file = getenv("END_FILE");

	return !file || !access(file, F_OK);
}

static void *work(void *arg)
{
	const struct job *job = arg;

	if (job->n)
		train(job->n, (void *)job->stream);
	else
		while (!is_over()) {
			train(100, (void *)job->stream);
			usleep(1000); /* a slow reader would lose any more than this */
		}
	return NULL;
}

static void in_threads(long nr, long n)
{
	pthread_t threads[MAX_THREADS];
	struct job jobs[MAX_THREADS];

	for (long i = 0; i < nr && i < MAX_THREADS; i++) {
		jobs[i] = (struct job){ n, (uintptr_t)i + 1 };
		if (pthread_create(&threads[i], NULL, work, &jobs[i]))
			exit(3);
	}
	for (long i = 0; i < nr && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static NOINLINE void deeper(long n)
{
	if (n > 1)
		deeper(n - 1);
	else
		launch_gemm(NULL);
	called();
}

static NOINLINE void peer(void)
{
	copy_peer(0x1000, (void *)0, 0x2000, (void *)1, 1 << 20, NULL);
	set_device(1);
	launch_gemm(NULL);
	set_device(0);
	called();
}

static void profiler(void)
{
	profiler_start();
	launch_gemm(NULL);
	profiler_stop();
}

static void note_launches(long launched)
{
	const char *path = getenv("SPIN_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%ld\n", launched);
	fclose(f);
}

static void spin(long ms)
{
	struct timespec t;
	long launched = 0;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 + (double)ms;
	do {
		train(100, NULL);
		launched += 100;
		/* Without this, an idle machine launches in one second what takes the GPU ten. */
		sync_context();
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 < end);
	note_launches(launched);
}

/* However slow a launch is, as many are made: what is late is made up for. */
static void keep_rate(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	for (long i = 0; i < ms; i++) {
		train(100, NULL);
		t.tv_nsec += 1000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	note_launches(ms * 100);
}

/* Both ends of the range are in one function, with one kind of work between them. */
static NOINLINE void captured(long ms)
{
	profiler_start();
	spin(ms);
	profiler_stop();
	called();
}

static NOINLINE void paced(long ms)
{
	struct timespec t;

	for (long i = 0; i < ms / 10; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		printf("at %ld%09ld\n", (long)t.tv_sec, t.tv_nsec);
		launch_gemm(NULL);
		usleep(10000);
	}
	called();
}

static void in_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		train(10, NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	train(1, NULL);
}

static void launch_some(long n)
{
	train(n, NULL);
	sync_context();
}

static void with_competitor(long n)
{
	const char *path = getenv("COMPETITOR");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	void (*record)(void (*)(long), long) =
		library ? (void (*)(void (*)(long), long))dlsym(library, "competitor_record")
			: NULL;

	if (!record)
		exit(3);
	usleep(2500000); /* between load and use: sprof looks for the library once a second */
	record(launch_some, n);
}

static void idle(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t))
		;
}

static void *launch_beside(void *is_over)
{
	while (!__atomic_load_n((int *)is_over, __ATOMIC_RELAXED)) {
		train(20, (void *)1);
		usleep(2000);
	}
	return NULL;
}

static void competitor_beside_threads(long n)
{
	pthread_t threads[4];
	int is_over = 0;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, launch_beside, &is_over))
			exit(3);
	with_competitor(n);
	idle(6000); /* until sprof has tried again */
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void load_code(const char *what)
{
	char image[64];
	void *module;

	snprintf(image, sizeof(image), "FAKE-CUBIN %s", what);
	load_module(&module, image);
	get_function(&gemm, module, "gemm_kernel");
	get_function(&relu, module, "relu_kernel");
}

static NOINLINE void in_context(long n)
{
	void *context;

	create_context(&context, 0, 0);
	launch_some(n);
	destroy_context(context);
}

static void quit(void)
{
	printf("done %d\n", calls);
	fflush(stdout);
	_exit(0);
}

static void act(const char *what)
{
	const char *colon = strchr(what, ':');
	long n = colon ? atol(colon + 1) : 0;

	if (!strncmp(what, "launch:", 7))
		train(n, NULL);
	else if (!strncmp(what, "mixed:", 6))
		mixed(n);
	else if (!strncmp(what, "graph:", 6))
		replay(n);
	else if (!strncmp(what, "alloc:", 6))
		allocate(n);
	else if (!strncmp(what, "pool:", 5))
		allocate_from_pool(n);
	else if (!strncmp(what, "threads:", 8))
		in_threads(4, n);
	else if (!strncmp(what, "crowd:", 6))
		in_threads(MAX_THREADS, n);
	else if (!strncmp(what, "storm:", 6))
		in_threads(n, 0);
	else if (!strncmp(what, "deep:", 5))
		deeper(n);
	else if (!strcmp(what, "peer"))
		peer();
	else if (!strncmp(what, "captured:", 9))
		captured(n);
	else if (!strcmp(what, "profiler"))
		profiler();
	else if (!strcmp(what, "fork"))
		in_child();
	else if (!strncmp(what, "competitor:", 11))
		with_competitor(n);
	else if (!strncmp(what, "beside:", 7))
		competitor_beside_threads(n);
	else if (!strncmp(what, "paced:", 6))
		paced(n);
	else if (!strncmp(what, "long:", 5))
		launch_long(n);
	else if (!strcmp(what, "quit"))
		quit();
	else if (!strncmp(what, "idle:", 5))
		idle(n);
	else if (!strncmp(what, "spin:", 5))
		spin(n);
	else if (!strncmp(what, "code:", 5))
		load_code(colon + 1);
	else if (!strncmp(what, "context:", 8))
		in_context(n);
	else if (!strncmp(what, "rate:", 5))
		keep_rate(n);
	else
		exit(2);
}

int main(int argc, char **argv)
{
	load();
	for (int i = 1; i < argc; i++)
		act(argv[i]);
	sync_context();
	printf("done %d\n", calls);
	return 0;
}
