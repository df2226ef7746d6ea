/*
 * Holds more and more memory at places of known shares, and lets go of what it allocates at another
 * one. The file of the first argument is the truth: a word for each place, with the bytes that are
 * held there, which stays when the program is killed. The second argument limits what is held, in
 * MiB; with that it prints "full" and waits. It begins at a line on standard input.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { LARGE, MIDDLE, SMALL, LEAK, NR_SITES };

static volatile uint64_t *held;

static void *fill(void *block, size_t size)
{
	if (!block)
		abort();
	return memset(block, 1, size);
}

static void *volatile last;

/* 60 % of what is held. */
static NOINLINE void hold_large(void)
{
	last = fill(malloc(60000), 60000);
	held[LARGE] += 60000;
}

/* 30 % */
static NOINLINE void hold_middle(void)
{
	for (int i = 0; i < 10; i++) {
		last = fill(malloc(3000), 3000);
		held[MIDDLE] += 3000;
	}
}

/* 9 % */
static NOINLINE void hold_small(void)
{
	for (int i = 0; i < 90; i++) {
		last = fill(malloc(100), 100);
		held[SMALL] += 100;
	}
}

/* 1 % */
static NOINLINE void hold_leak(void)
{
	for (int i = 0; i < 10; i++) {
		last = fill(calloc(10, 10), 100);
		held[LEAK] += 100;
	}
}

static NOINLINE void let_go(void)
{
	for (int i = 0; i < 100; i++) {
		last = fill(malloc(2000), 2000);
		free(last);
	}
}

int main(int argc, char **argv)
{
	uint64_t most = argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : UINT64_MAX, all = 0;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	char line[16];

	if (fd < 0 || ftruncate(fd, NR_SITES * 8))
		return 1;
	held = mmap(NULL, NR_SITES * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (held == MAP_FAILED)
		return 1;
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (; all < most; all += 100000) {
		hold_large();
		hold_middle();
		hold_small();
		hold_leak();
		let_go();
		/* 100 MB/s at most, so that a recorder gets to see it. */
		nanosleep(&(struct timespec){ 0, 900000 }, NULL);
	}
	printf("full\n");
	if (fgets(line, sizeof(line), stdin))
		return 3; /* with a status of its own */
	return 0;
}
