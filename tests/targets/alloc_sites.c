/*
 * Allocates known amounts of memory at ten places, in three threads. Waits for a line on standard
 * input before it begins, and for the end of standard input before it ends; in between it prints
 * for each place "NAME BYTES LIVE": what was allocated there, and what is not freed.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MIB (1u << 20)

enum { SMALL, MIXED, CALLOC, REALLOC, MEMALIGN, STRDUP, CROSSED, LEAK, TABLE, GROWN, NR_SITES };
static const char *const names[] = { "site_small",    "site_mixed",  "site_calloc",  "site_realloc",
				     "site_memalign", "site_strdup", "site_crossed", "site_leak",
				     "site_table",    "site_grown" };
static uint64_t allocated[NR_SITES], live[NR_SITES];

static volatile size_t too_much = (size_t)1 << 46;

static uint64_t random_state = 88172645463325252ull;

static uint32_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

static void *use(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

static NOINLINE void site_small(void)
{
	for (uint64_t n = 0; n < 80ull * MIB; n += 48) {
		free(use(malloc(48)));
		allocated[SMALL] += 48;
	}
}

static NOINLINE void site_mixed(void)
{
	while (allocated[MIXED] < 120ull * MIB) {
		uint32_t size = 16 + next_random() % 4096;

		free(use(malloc(size)));
		allocated[MIXED] += size;
	}
}

static NOINLINE void site_calloc(void)
{
	while (allocated[CALLOC] < 60ull * MIB) {
		free(use(calloc(12, 40)));
		allocated[CALLOC] += 480;
	}
}

/* From nothing to 64 KiB and above the limit of mmap(2), in steps. */
static NOINLINE void site_realloc(void)
{
	for (int i = 0; i < 200; i++) {
		char *block = NULL;

		for (size_t size = 64; size <= 400000; size *= 2) {
			block = use(realloc(block, size));
			allocated[REALLOC] += size;
		}
		free(block);
	}
}

static NOINLINE void site_memalign(void)
{
	for (int i = 0; i < 20000; i++) {
		void *other = NULL;

		free(use(aligned_alloc(64, 1024)));
		if (posix_memalign(&other, 256, 2000))
			abort();
		free(use(other));
		free(use(memalign(128, 500)));
		allocated[MEMALIGN] += 3524;
	}
}

static NOINLINE void site_strdup(void)
{
	char text[200];

	memset(text, 'x', sizeof(text));
	text[199] = '\0';
	while (allocated[STRDUP] < 50ull * MIB) {
		free(use(strdup(text)));
		allocated[STRDUP] += sizeof(text);
	}
}

/* Blocks that one thread allocates and another one frees. */
static void *volatile slots[1024];
static volatile int crossed_done;

static NOINLINE void site_crossed(void)
{
	while (allocated[CROSSED] < 60ull * MIB) {
		for (size_t i = 0; i < 1024; i++) {
			if (slots[i])
				continue;
			__atomic_store_n(&slots[i], use(malloc(700)), __ATOMIC_RELEASE);
			allocated[CROSSED] += 700;
		}
	}
	crossed_done = 1;
}

static void *allocate_crossed(void *unused)
{
	site_crossed();
	return unused;
}

static void *free_crossed(void *unused)
{
	bool any = true;

	while (!crossed_done || any) {
		any = false;
		for (size_t i = 0; i < 1024; i++) {
			void *block = __atomic_exchange_n(&slots[i], NULL, __ATOMIC_ACQ_REL);

			any |= block != NULL;
			free(block);
		}
	}
	return unused;
}

static NOINLINE void site_leak(void)
{
	while (allocated[LEAK] < 8ull * MIB) {
		use(malloc(120));
		allocated[LEAK] += 120;
	}
	live[LEAK] = allocated[LEAK];
}

/* Half of the table is freed again; of the other half every second one is to grow, and cannot. */
static NOINLINE void site_table(void)
{
	static void *table[100000];

	for (size_t i = 0; i < 100000; i++) {
		table[i] = use(malloc(1000));
		allocated[TABLE] += 1000;
	}
	for (size_t i = 0; i < 100000; i += 2)
		free(table[i]);
	for (size_t i = 1; i < 100000; i += 4)
		if (realloc(table[i], too_much))
			abort();
	live[TABLE] = allocated[TABLE] / 2;
}

static NOINLINE void site_grown(void)
{
	for (int i = 0; i < 2000; i++) {
		char *block = use(malloc(1));

		allocated[GROWN] += 1;
		for (size_t size = 256; size <= 16384; size *= 4) {
			block = use(realloc(block, size));
			allocated[GROWN] += size;
			live[GROWN] += size == 16384 ? size : 0;
		}
	}
}

int main(void)
{
	pthread_t threads[2];
	char line[16];

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	pthread_create(&threads[0], NULL, allocate_crossed, NULL);
	pthread_create(&threads[1], NULL, free_crossed, NULL);
	site_table();
	site_small();
	site_mixed();
	site_leak();
	site_calloc();
	site_realloc();
	site_memalign();
	site_strdup();
	site_grown();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	for (size_t i = 0; i < NR_SITES; i++)
		printf("%s %llu %llu\n", names[i], (unsigned long long)allocated[i],
		       (unsigned long long)live[i]);
	printf("end\n");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
