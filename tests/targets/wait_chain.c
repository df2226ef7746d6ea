/*
 * Threads that wait for each other in a chain: `reads` for a pipe that `passes_on` writes to, which
 * waits for a futex that `sleeps` wakes after it has slept.
 *
 *	wait_chain ROUNDS
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))
#define NO_TAIL_CALL() __asm__ volatile("")

#define SLEEP_NS 30000000
#define WORK_NS 1000000

static int rounds;
static _Atomic uint32_t turn;
static int pipe_fds[2];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static NOIPA void works(void)
{
	uint64_t end = now_ns() + WORK_NS;

	while (now_ns() < end)
		;
	NO_TAIL_CALL();
}

static NOIPA void sleeps(void)
{
	struct timespec t = { 0, SLEEP_NS };

	for (int i = 0; i < rounds; i++) {
		nanosleep(&t, NULL);
		atomic_fetch_add(&turn, 1);
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	NO_TAIL_CALL();
}

/* It works before it writes: its waits and those of the others begin and end in a known order. */
static NOIPA void passes_on(void)
{
	for (uint32_t i = 0; i < (uint32_t)rounds; i++) {
		while (atomic_load(&turn) == i)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
		works();
		if (write(pipe_fds[1], "", 1) != 1)
			abort();
	}
	NO_TAIL_CALL();
}

static NOIPA void reads(void)
{
	char byte;

	for (int i = 0; i < rounds; i++)
		if (read(pipe_fds[0], &byte, 1) != 1)
			abort();
	NO_TAIL_CALL();
}

struct kind {
	const char *name;
	void (*function)(void);
};

static void *run(void *arg)
{
	const struct kind *kind = arg;

	prctl(PR_SET_NAME, kind->name);
	kind->function();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct kind kinds[] = { { "reads", reads },
				       { "passes_on", passes_on },
				       { "sleeps", sleeps } };
	enum { NR = sizeof(kinds) / sizeof(*kinds) };
	pthread_t threads[NR];

	rounds = argc > 1 ? atoi(argv[1]) : 100;
	if (pipe(pipe_fds))
		return 1;
	for (int i = 0; i < NR; i++)
		if (pthread_create(&threads[i], NULL, run, &kinds[i]))
			return 1;
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
