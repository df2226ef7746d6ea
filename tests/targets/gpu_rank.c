// BUILD: -no-pie -fno-omit-frame-pointer -O1 -ldl
/*
 * One rank of a job over the fake libcuda.so.1: gpu_rank STEPS. A step computes for some 100 us,
 * launches a kernel, sums over all ranks (communicator 0) and gathers with the neighbour whose rank
 * differs in the last bit (communicator 1 + RANK / 2), each on a stream of its own, and waits.
 *
 *	RANK, WORLD_SIZE	its place, as torchrun tells it
 *	LATE=RANK:STEP:MS:HOW	this rank is late in this step, -1 is every one; HOW is
 *				spin (of CPU time), sleep or gpu
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_driver.h"

static int (*init)(unsigned int);
static int (*get_function)(void **, void *, const char *);
static int (*launch_kernel)(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
			    uint32_t, void *, void **, void **);
static int (*sync_stream)(void *);
static int (*sync_context)(void);

static const struct cuda_entry entries[] = {
	{ "cuInit", &init },
	{ "cuModuleGetFunction", &get_function },
	{ "cuLaunchKernel", &launch_kernel },
	{ "cuStreamSynchronize", &sync_stream },
	{ "cuCtxSynchronize", &sync_context },
};

static void *gemm, *spinning, *all_reduce, *all_gather;
static int rank, nr_ranks;

/* Keeps a call from being a tail call: tests assert the frames of this program. */
static volatile int calls;

static void load(void)
{
	load_cuda(entries, sizeof(entries) / sizeof(entries[0]));
	init(0);
	get_function(&gemm, NULL, "gemm_kernel");
	get_function(&spinning, NULL, "spin");
	get_function(&all_reduce, NULL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	get_function(&all_gather, NULL, "ncclDevKernel_AllGather_RING_LL");
}

/* CPU time, so that a busy machine does not make ranks do less. */
static NOINLINE void compute(long us)
{
	struct timespec t;
	int64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000000000 + t.tv_nsec + us * 1000;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000000000 + t.tv_nsec < end);
	calls++;
}

static NOINLINE void forward(void)
{
	compute(300);
	launch_kernel(gemm, 10, 1, 1, 128, 1, 1, 0, (void *)1, NULL, NULL);
	calls++;
}

static NOINLINE void collect(void *kernel, uint32_t communicator, uint32_t size, void *stream)
{
	uint32_t what[2] = { communicator, size };
	void *params[] = { what };

	launch_kernel(kernel, 2, 1, 1, 512, 1, 1, 0, stream, params, NULL);
	calls++;
}

static NOINLINE void load_batch(long ms)
{
	compute(ms * 1000);
	calls++;
}

static NOINLINE void wait_for_disk(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
	calls++;
}

/* On the stream of the collective, which has to wait for it. */
static NOINLINE void large_kernel(long ms)
{
	uint64_t ns = (uint64_t)ms * 1000000;
	void *params[] = { &ns };

	launch_kernel(spinning, 1, 1, 1, 32, 1, 1, 0, (void *)9, params, NULL);
	calls++;
}

static NOINLINE void be_late(int step)
{
	int who, when, ms, read;
	char how[16];

	read = sscanf(getenv("LATE") ? getenv("LATE") : "", "%d:%d:%d:%15s", &who, &when, &ms, how);
	if (read < 4 || who != rank || (when >= 0 && when != step))
		return;
	if (!strcmp(how, "spin"))
		load_batch(ms);
	else if (!strcmp(how, "sleep"))
		wait_for_disk(ms);
	else
		large_kernel(ms);
	calls++;
}

static NOINLINE void train_step(int step)
{
	forward();
	be_late(step);
	collect(all_reduce, 0, (uint32_t)nr_ranks, (void *)9);
	sync_stream((void *)9);
	collect(all_gather, 1 + (uint32_t)rank / 2, 2, (void *)10);
	sync_stream((void *)10);
	calls++;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 10;

	rank = atoi(getenv("RANK"));
	nr_ranks = atoi(getenv("WORLD_SIZE"));
	load();
	collect(all_reduce, 0, (uint32_t)nr_ranks, (void *)9); /* all start together */
	sync_stream((void *)9);
	for (int i = 0; i < steps; i++)
		train_step(i);
	sync_context();
	return 0;
}
