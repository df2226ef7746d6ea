// BUILD: -no-pie -fno-omit-frame-pointer -O1 -ldl
/*
 * A program that launches CUDA graphs through whatever libcuda.so.1 the loader finds; tests/gpu
 * gives it a fake one.
 *
 *	replays		launches single kernels until the file named by END_FILE appears, and from
 *			when that named by BUILD_FILE does, a graph of 5 kernels, too
 *	threads:N	captures a stream, into which another thread launches N kernels and ends
 *			the capture; launches one into another stream before that and one after,
 *			and then the graph
 *	rate:MS		4 launches of a graph of 60 kernels, 72 us each, in each ms; the file that
 *			SPIN_COUNT names gets how many
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_driver.h"

static int (*init)(unsigned int);
static int (*get_function)(void **, void *, const char *);
static int (*launch_kernel)(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
			    uint32_t, void *, void **, void **);
static int (*graph_create)(void **, unsigned int);
static int (*graph_add)(void *, void *, uint32_t);
static int (*graph_launch)(void *, void *);
static int (*begin_capture)(void *, unsigned int);
static int (*end_capture)(void *, void **);
static int (*instantiate)(void **, void *, unsigned long long);
static int (*sync_context)(void);

static const struct cuda_entry entries[] = {
	{ "cuInit", &init },
	{ "cuModuleGetFunction", &get_function },
	{ "cuLaunchKernel", &launch_kernel },
	{ "cuGraphCreate", &graph_create },
	{ "cuGraphAddFakeKernel", &graph_add },
	{ "cuGraphLaunch", &graph_launch },
	{ "cuStreamBeginCapture_v2", &begin_capture },
	{ "cuStreamEndCapture", &end_capture },
	{ "cuGraphInstantiateWithFlags", &instantiate },
	{ "cuCtxSynchronize", &sync_context },
};

static void *gemm, *relu;

/* Keeps a call from being a tail call: tests assert the frames of this program. */
static volatile int calls;

static void load(void)
{
	load_cuda(entries, sizeof(entries) / sizeof(entries[0]));
	init(0);
	get_function(&gemm, NULL, "gemm_kernel");
	get_function(&relu, NULL, "relu_kernel");
}

static NOINLINE void launch_into(void *stream)
{
	launch_kernel(gemm, 10, 1, 1, 128, 1, 1, 0, stream, NULL, NULL);
	calls++;
}

static NOINLINE void launch_single(void)
{
	launch_into(NULL);
	calls++;
}

static NOINLINE void build_graph(void *graph)
{
	for (uint32_t i = 0; i < 5; i++)
		graph_add(graph, i % 2 ? relu : gemm, 10 + i);
	calls++;
}

static int is_there(const char *variable)
{
	const char *file = getenv(variable);

	return !file || !access(file, F_OK);
}

static NOINLINE void replay(void)
{
	void *graph = NULL;

	while (!is_there("END_FILE")) {
		launch_single();
		if (!graph && is_there("BUILD_FILE")) {
			graph_create(&graph, 0);
			build_graph(graph);
			printf("built\n");
			fflush(stdout);
		}
		for (int i = 0; graph && i < 2; i++)
			graph_launch(graph, NULL);
		sync_context();
		usleep(500);
	}
	calls++;
}

struct capture {
	void *stream, *graph;
	long nr;
};

static void *finish_capture(void *of)
{
	struct capture *c = of;

	for (long i = 0; i < c->nr; i++)
		launch_into(c->stream);
	end_capture(c->stream, &c->graph);
	return NULL;
}

static NOINLINE void capture_by_two_threads(long nr)
{
	struct capture c = { .stream = (void *)1, .nr = nr };
	pthread_t thread;
	void *executable;

	begin_capture(c.stream, 2); /* relaxed: any thread may end it */
	launch_single();
	if (pthread_create(&thread, NULL, finish_capture, &c))
		exit(1);
	pthread_join(thread, NULL);
	launch_single();
	instantiate(&executable, c.graph, 0);
	graph_launch(executable, c.stream);
	calls++;
}

/* However slow a launch is, as many are made: what is late is made up for. */
static NOINLINE void keep_rate(long ms)
{
	const char *path = getenv("SPIN_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;
	struct timespec t;
	void *graph;

	graph_create(&graph, 0);
	for (int i = 0; i < 12; i++)
		build_graph(graph);
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (long i = 0; i < ms; i++) {
		for (int k = 0; k < 4; k++)
			graph_launch(graph, NULL);
		t.tv_nsec += 1000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	if (f) {
		fprintf(f, "%ld\n", 4 * ms);
		fclose(f);
	}
	calls++;
}

int main(int argc, char **argv)
{
	load();
	if (argc == 2 && !strcmp(argv[1], "replays"))
		replay();
	else if (argc == 2 && !strncmp(argv[1], "threads:", 8))
		capture_by_two_threads(atol(argv[1] + 8));
	else if (argc == 2 && !strncmp(argv[1], "rate:", 5))
		keep_rate(atol(argv[1] + 5));
	else
		return 2;
	sync_context();
	return 0;
}
