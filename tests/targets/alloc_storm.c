/*
 * Allocates in several threads under signals, forks, vforks, short threads and libraries that come
 * and go, and checks that every block keeps its content: a target whose allocation functions are
 * hooked and restored meanwhile.
 *
 *	alloc_storm MILLISECONDS
 *
 * Ends early if the file $END_FILE appears. It prints how often a thread allocated and the longest
 * gap between two allocations in microseconds; status 1: a block or a child was wrong.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

#define NR_THREADS 3
#define NR_BLOCKS 256

static volatile bool done, wrong;
static volatile sig_atomic_t nr_signals;
static uint64_t nr_allocations[NR_THREADS], longest_ns[NR_THREADS];

static void on_signal(int signal)
{
	(void)signal;
	nr_signals++;
}

static bool holds(const unsigned char *block, size_t size, unsigned char value)
{
	return block[0] == value && block[size / 2] == value && block[size - 1] == value;
}

static void *allocate_somehow(unsigned int how, size_t size)
{
	void *block = NULL;

	switch (how % 5) {
	case 0: return calloc(size / 8 + 1, 8);
	case 1: return aligned_alloc(64, size);
	case 2: return posix_memalign(&block, 128, size) ? NULL : block;
	case 3: return realloc(NULL, size);
	default: return malloc(size);
	}
}

static void *allocate(void *context)
{
	uint64_t at = (uint64_t)(uintptr_t)context, last = monotonic_ns(), state = at * 7919 + 1;
	static _Thread_local struct {
		unsigned char *block;
		size_t size;
		unsigned char value;
	} blocks[NR_BLOCKS];

	while (!done) {
		size_t i, size;
		uint64_t now;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		i = state >> 33 & (NR_BLOCKS - 1);
		size = 1 + (state >> 41) % (state >> 60 ? 2000 : 300000);
		if (blocks[i].block && !holds(blocks[i].block, blocks[i].size, blocks[i].value))
			wrong = true;
		if (blocks[i].block && state >> 50 & 1) {
			blocks[i].block = realloc(blocks[i].block, size);
		} else {
			free(blocks[i].block);
			blocks[i].block = allocate_somehow((unsigned int)(state >> 20), size);
		}
		if (!blocks[i].block)
			abort();
		blocks[i].size = size;
		blocks[i].value = (unsigned char)state;
		memset(blocks[i].block, blocks[i].value, size);
		nr_allocations[at]++;
		now = monotonic_ns();
		if (now - last > longest_ns[at])
			longest_ns[at] = now - last;
		last = now;
	}
	for (size_t i = 0; i < NR_BLOCKS; i++)
		free(blocks[i].block);
	return NULL;
}

static void *live_briefly(void *unused)
{
	free(malloc(100));
	return unused;
}

/* A child allocates with whatever hooks it inherits. */
static void fork_once(void)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		for (int i = 0; i < 2000; i++) {
			char *block = malloc((size_t)i * 100 + 1);

			memset(block, i, (size_t)i * 100 + 1);
			free(realloc(block, (size_t)i + 1));
		}
		_exit(0);
	}
	if (child > 0 && waitpid(child, &status, 0) == child && status)
		wrong = true;
}

/* A child in the memory of its parent, which stands still until the child ends. */
static void vfork_once(void)
{
	pid_t child = vfork();
	int status = 0;

	if (!child) {
		free(malloc(5000));
		_exit(0);
	}
	if (child > 0 && waitpid(child, &status, 0) == child && status)
		wrong = true;
}

static void load_once(void)
{
	void *library = dlopen("libanl.so.1", RTLD_NOW);

	if (library)
		dlclose(library);
}

int main(int argc, char **argv)
{
	const struct itimerval interval = { { 0, 1000 }, { 0, 1000 } };
	uint64_t end = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000u;
	const char *end_file = getenv("END_FILE");
	pthread_t threads[NR_THREADS];
	uint64_t sum = 0, longest = 0;

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &interval, NULL);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)i);
	while (monotonic_ns() < end && !(end_file && !access(end_file, F_OK))) {
		pthread_t brief;

		if (!pthread_create(&brief, NULL, live_briefly, NULL))
			pthread_join(brief, NULL);
		fork_once();
		vfork_once();
		load_once();
	}
	done = true;
	for (size_t i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += nr_allocations[i];
		longest = longest_ns[i] > longest ? longest_ns[i] : longest;
	}
	printf("%llu allocations, longest gap %llu us, %s\n", (unsigned long long)sum,
	       (unsigned long long)longest / 1000, wrong ? "WRONG" : "right");
	return wrong;
}
