// BUILD: -no-pie -fomit-frame-pointer -O1 -ldl -Wl,-Bstatic -lunwind -llzma -Wl,-Bdynamic
/*
 * Launches from the end of a random walk through a few functions. After each launch it looks up, in
 * the memory that libsprof-gpu.so shares, the stack that the launch was given; libunwind must find
 * the same one. From one launch to the next, any part of the stack may stay: all of it, the outer
 * part, a part at another depth, or nothing. Runs over the fake libcuda.
 *
 *	gpu_paths LAUNCHES [SEED [DEPTH]]
 */
#define UNW_LOCAL_ONLY
#include <alloca.h>
#include <dlfcn.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"
#include "tests/gpu/fake_gpu.h"

#define MAX_FRAMES 512
#define NOINLINE __attribute__((noinline))

static const struct fake_tool *tool;
static const struct gpu_region *region;
static uint64_t random_state;
static long left, nr_same, nr_lost, nr_wrong;
static int max_depth;
static volatile int sink;

static uint32_t any(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

static void *find_region(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start;
	void *found = NULL;
	char line[512];

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:sprof-gpu ") && sscanf(line, "%lx", &start) == 1)
			found = (void *)start; // NOLINT(performance-no-int-to-ptr)
	if (maps)
		fclose(maps);
	return found;
}

/* The stack of the last call record in this thread's ring. */
static const struct gpu_stack *last_stack(uint32_t correlation)
{
	const char *base = (const char *)region;
	const struct gpu_lane *lanes = (const void *)(base + region->lanes.offset);

	for (uint32_t i = 1; i < region->nr_lanes; i++) {
		uint64_t head = __atomic_load_n(&lanes[i].head, __ATOMIC_ACQUIRE);
		const struct gpu_rec_api *r;

		if (head < sizeof(*r))
			continue;
		r = (const void *)(base + lanes[i].offset +
				   ((head - sizeof(*r)) & (lanes[i].size - 1)));
		if (r->head.type == GPU_RECORD_API && r->correlation == correlation)
			return (const void *)(base + region->stacks.offset + 8ull * r->stack);
	}
	return NULL;
}

/*
 * One stack begins with frames of the callback, the other with frames of this function. From this
 * function's caller up to main() both must be equal.
 */
static bool is_same(const struct gpu_stack *s, void **frames, int nr)
{
	if (s->end != END_ROOT || s->nr < nr)
		return false;
	for (int i = 1; i <= nr; i++)
		if (s->frames[s->nr - i] != (uint64_t)frames[nr - i])
			return false;
	return true;
}

static NOINLINE void launch(void)
{
	static uint32_t correlation = 1000000;
	const struct gpu_stack *s;
	void *frames[MAX_FRAMES];
	uint64_t data = 0;
	int result = 0, nr;

	tool->api(1, 0, 307, ++correlation, &data, &result);
	tool->api(1, 1, 307, correlation, &data, &result);
	nr = unw_backtrace(frames, MAX_FRAMES);
	s = last_stack(correlation);
	left--;
	if (left % 1000 == 0)
		usleep(30000); /* the recorder empties the ring */
	if (!s) {
		nr_lost++; /* the ring was full */
		return;
	}
	if (is_same(s, frames + 1, nr - 1)) {
		nr_same++;
		return;
	}
	if (nr_wrong++ > 3)
		return;
	printf("launch %u: end %d\n", correlation, s->end);
	for (int i = 1; i < nr || i < s->nr; i++)
		printf("%3d %10lx %10p\n", i, i <= s->nr ? (long)s->frames[s->nr - i] : 0,
		       i < nr ? frames[nr - i] : NULL);
}

static void wander(int depth);

static NOINLINE void small(int depth)
{
	wander(depth);
	sink++;
}

static NOINLINE void large(int depth)
{
	volatile char space[600];

	space[depth & 511] = 1;
	wander(depth);
	sink += space[depth & 511];
}

/* A function whose frame size is only known at run time. */
static NOINLINE void growing(int depth)
{
	volatile char *space = alloca(16 + any(200));

	space[0] = 1;
	wander(depth);
	sink += space[0];
}

static NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) void with_pointer(int depth)
{
	if (any(2))
		wander(depth);
	else
		small(depth);
	sink++;
}

/* Uses the frame pointer's register for something else. */
static NOINLINE __attribute__((optimize("O2"))) int busy(int depth, int a, int b, int c, int d,
							 int e)
{
	int f = sink + a, g = f * b, h = g + c, i = h * d, j = i + e;

	wander(depth);
	return f + g * h + i * j + a * b + c * d + e;
}

/* Aligns its stack itself. */
static NOINLINE void aligned(int depth)
{
	volatile char space[64] __attribute__((aligned(64)));

	space[0] = (char)depth;
	wander(depth);
	sink += space[0];
}

static void wander(int depth)
{
	uint32_t times = any(8) ? 1 : 1 + any(3);

	if (depth >= max_depth || !any(12)) {
		do
			launch();
		while (left > 0 && any(3));
		return;
	}
	while (left > 0 && times--)
		switch (any(6)) {
		case 0: small(depth + 1); break;
		case 1: large(depth + 1); break;
		case 2: growing(depth + 1); break;
		case 3: with_pointer(depth + 1); break;
		case 4: sink += busy(depth + 1, 1, 2, 3, 4, sink); break;
		default: aligned(depth + 1);
		}
}

int main(int argc, char **argv)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int) = cuda ? (int (*)(unsigned int))dlsym(cuda, "cuInit") : NULL;
	const struct fake_tool *(*get)(void) =
		cuda ? (const struct fake_tool *(*)(void))dlsym(cuda, "fake_cuda_tool") : NULL;

	left = argc > 1 ? atol(argv[1]) : 1000;
	random_state = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
	max_depth = argc > 3 ? atoi(argv[3]) : 40;
	if (!init || !get || init(0) || !(tool = get()) || !(region = find_region())) {
		fprintf(stderr, "gpu_paths: run me under sprof record, over the fake libcuda\n");
		return 3;
	}
	while (left > 0)
		wander(0);
	printf("same %ld lost %ld wrong %ld\n", nr_same, nr_lost, nr_wrong);
	return nr_wrong != 0;
}
