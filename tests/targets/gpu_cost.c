// BUILD: -no-pie -fomit-frame-pointer -O2 -ldl -Wl,-Bstatic -lunwind -llzma -Wl,-Bdynamic
/*
 * Measures what libsprof-gpu.so adds to a CUDA call, beside libunwind's walk of the same stack, 40
 * frames deep: medians of many single measurements, in ns. It runs over the fake libcuda and calls
 * the library's callback directly, so nothing else is measured. "unheard" is the same for a call
 * without a subscriber: what the others take beyond it is the library's own cost.
 *
 *	gpu_cost [ROUNDS [DEPTH]]
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include "tests/gpu/fake_gpu.h"

#define BATCH 1000
#define DEFAULT_DEPTH 40

static const struct fake_tool *tool;
enum { WALKED, NEAR, REPEATED, BACKTRACE, UNHEARD, NR_CASES };
static uint64_t samples[NR_CASES][BATCH * 200];
static size_t nr_samples;
static uint32_t correlation = 1000000;
static volatile int sink;
static volatile int twice = 2; /* volatile: else the loop is unrolled into two call sites */

/*
 * Waits for earlier instructions to end and keeps later ones from starting, so that no call pays
 * for another.
 */
static inline uint64_t ticks(void)
{
	uint64_t now;

	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

static __attribute__((noinline)) void call(uint32_t cbid, uint64_t *ret_ticks)
{
	uint64_t data = 0, begin;
	int result = 0;

	begin = ticks();
	tool->api(1, 0, cbid, ++correlation, &data, &result);
	tool->api(1, 1, cbid, correlation, &data, &result);
	*ret_ticks = ticks() - begin;
}

static __attribute__((noinline)) void measure(void)
{
	void *frames[128];
	uint64_t begin;

	call(307, &samples[WALKED][nr_samples]); /* another call site than before: walked */
	call(307, &samples[NEAR][nr_samples]);	 /* new call site, known frames above it */
	for (int i = 0; i < twice; i++)		 /* same call site: the second is a repeat */
		call(307, &samples[REPEATED][nr_samples]);
	call(0, &samples[UNHEARD][nr_samples]);
	begin = ticks();
	sink += unw_backtrace(frames, 128);
	samples[BACKTRACE][nr_samples] = ticks() - begin;
	nr_samples++;
}

static __attribute__((noinline)) void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		measure();
	sink++;
}

/* Another path to the same depth, so that no frame is at the same address. */
static __attribute__((noinline)) void other(int n)
{
	volatile char space[64];

	space[0] = (char)n;
	if (n)
		other(n - 1);
	else
		call(307, &samples[WALKED][nr_samples]);
	sink += space[0];
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The clock may advance ten ticks at a time, which makes many samples equal. The equal samples
 * around the median are therefore spread evenly over one such step.
 */
static double median(const uint64_t *sorted, size_t nr)
{
	uint64_t middle = sorted[nr / 2];
	size_t first = nr / 2, last = nr / 2;
	double step;

	while (first && sorted[first - 1] == middle)
		first--;
	while (last + 1 < nr && sorted[last + 1] == middle)
		last++;
	if (!first || last + 1 == nr)
		return (double)middle;
	step = (double)(sorted[last + 1] - sorted[first - 1]) / 2;
	return (double)middle +
	       step * (((double)nr / 2 - (double)first) / (double)(last + 1 - first) - 0.5);
}

static double ns_per_tick(void)
{
	struct timespec a, b, pause = { 0, 20000000 };
	uint64_t begin = __rdtsc(), ticks;

	clock_gettime(CLOCK_MONOTONIC, &a);
	nanosleep(&pause, NULL);
	ticks = __rdtsc() - begin;
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
	       (double)ticks;
}

int main(int argc, char **argv)
{
	static const char *const names[NR_CASES] = { "walked", "near", "repeated", "unw_backtrace",
						     "unheard" };
	int rounds = argc > 1 ? atoi(argv[1]) : 20,
	    depth = argc > 2 ? atoi(argv[2]) : DEFAULT_DEPTH;
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int) = cuda ? (int (*)(unsigned int))dlsym(cuda, "cuInit") : NULL;
	const struct fake_tool *(*get)(void) =
		cuda ? (const struct fake_tool *(*)(void))dlsym(cuda, "fake_cuda_tool") : NULL;
	double scale = ns_per_tick();

	if (!init || !get || init(0) || !(tool = get())) {
		fprintf(stderr, "gpu_cost: run me under sprof record, over the fake libcuda\n");
		return 3;
	}
	for (int i = 0; i < rounds && i < 200; i++) {
		struct timespec pause = { 0, 20000000 }; /* the recorder empties the rings */

		for (int j = 0; j < BATCH; j++) {
			other(depth);
			deep(depth);
		}
		nanosleep(&pause, NULL);
	}
	for (int i = 0; i < NR_CASES; i++) {
		qsort(samples[i], nr_samples, sizeof(samples[i][0]), compare);
		printf("%s %.1f ns median, %.0f ns p99\n", names[i],
		       median(samples[i], nr_samples) * scale,
		       (double)samples[i][nr_samples * 99 / 100] * scale);
	}
	return 0;
}
