/*
 * A target of --alloc that lies about its samples: it writes draws into the ring that it shares
 * with the recorder, as fast as they are taken out, for as many seconds as its argument says. Each
 * is of another thread, and their numbers are chosen so that uthash's own hash function puts all of
 * them into one bucket.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uthash.h>

#include "sampler/agent/alloc/alloc_region.h"

#define DRAW_WORDS (1 + sizeof(struct alloc_draw) / 8 + 1)

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000000000u + (__u64)t.tv_nsec;
}

static struct alloc_shared *find_shared(void)
{
	struct alloc_shared *found = NULL;
	unsigned long start, end;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		if (strstr(line, "/memfd:sprof-alloc") &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2 && end - start == sizeof(*found))
			found = (struct alloc_shared *)start;
	if (f)
		fclose(f);
	return found;
}

static bool is_in_first_bucket(__u64 number)
{
	unsigned hash;

	HASH_JEN(&number, sizeof(number), hash);
	return !(hash & 255);
}

static void claim(struct alloc_shared *shared, __u64 number, __s32 tid)
{
	struct alloc_draw d = {
		.number = number,
		.address = 16 * number,
		.size = 100,
		.interval = 512,
		.time_ns = now_ns(),
		.tid = tid,
		.nr_frames = 1,
		.nr_total = 1,
		.type = ALLOC_DRAW,
	};
	__u64 at, words[sizeof(d) / 8];

	memcpy(words, &d, sizeof(d));
	if (ring_reserve(&shared->ring, shared->words, ALLOC_RING_WORDS, DRAW_WORDS, &at)) {
		usleep(1000);
		return;
	}
	for (size_t i = 0; i < sizeof(d) / 8; i++)
		ring_put(shared->words, ALLOC_RING_WORDS, at + 1 + i, words[i]);
	ring_put(shared->words, ALLOC_RING_WORDS, at + DRAW_WORDS - 1,
		 (__u64)claim + number % 4096);
	ring_commit(shared->words, ALLOC_RING_WORDS, at, DRAW_WORDS);
}

/* The recorder has left, and taken the memory with it. */
static void leave(int signal)
{
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv)
{
	__u64 end = now_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 10) * 1000000000u;
	struct alloc_shared *shared = NULL;
	__u64 number = 0;

	signal(SIGSEGV, leave);
	printf("ready\n");
	fflush(stdout);
	while (!shared && now_ns() < end) {
		free(malloc(100));
		usleep(1000);
		shared = find_shared();
	}
	for (__s32 tid = 1000000; shared && now_ns() < end; tid++) {
		do
			number++;
		while (!is_in_first_bucket(number));
		claim(shared, number, tid);
	}
	return 0;
}
