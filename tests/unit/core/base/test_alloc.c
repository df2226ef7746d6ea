/* core/base/alloc.c: free memory goes back to the system, whatever was freed before. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* its allocator keeps what is freed */
#else
#define SANITIZED 0
#endif

#define MB (1u << 20)
#define NR_BLOCKS 2048
#define BLOCK 4000

/* KiB of this process that no file backs. */
static long held(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	assert_non_null(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "RssAnon: %ld", &kib);
	fclose(f);
	assert_true(kib > 0);
	return kib;
}

/* Of a block that is larger than what a heap holds, which glibc maps, and learns from. */
static void free_a_large_block(void)
{
	void *block = xcalloc(1, 16 * MB);

	memset(block, 1, 16 * MB);
	free(block);
}

/* Needs 8 MB in small blocks once, and ends later. */
static void *work(void *barrier)
{
	static void *blocks[NR_BLOCKS];

	for (size_t i = 0; i < NR_BLOCKS; i++)
		blocks[i] = memset(xmalloc(BLOCK), 1, BLOCK);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		free(blocks[i]);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void the_heap_of_a_thread_is_given_back_while_it_lives(void **state)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	long before;

	(void)state;
	if (SANITIZED)
		skip();
	free_a_large_block();
	alloc_return_memory();
	free_a_large_block();
	before = held();
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, work, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_true(held() < before + 2 * 1024);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heap_of_a_thread_is_given_back_while_it_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
