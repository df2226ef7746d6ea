/*
 * Threads that live for 2 ms, in which they wait, each for one thing and in a function of its own:
 *
 *	short_waits MILLISECONDS
 *
 * Four at a time, and then none for 10 ms, so that there are few enough for each to be sampled. At
 * its end it prints `NAME NS NR` for each kind: how long its waits took, by the threads' own clock,
 * and how many took a millisecond or more: a thread that starts late finds its byte there.
 */
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

#define NOIPA __attribute__((noipa))
#define NO_TAIL_CALL() __asm__ volatile("")
#define WAIT_NS 2000000

static int pipe_fds[2], sockets[2];
static const struct timespec wait_time = { 0, WAIT_NS }, pause_time = { 0, 10000000 };

static NOIPA void on_futex(void)
{
	uint32_t word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0);
	NO_TAIL_CALL();
}

static NOIPA void on_pipe(void)
{
	char byte;

	if (read(pipe_fds[0], &byte, 1) != 1)
		abort();
	NO_TAIL_CALL();
}

static NOIPA void on_socket(void)
{
	char byte;

	if (recv(sockets[0], &byte, 1, 0) != 1)
		abort();
	NO_TAIL_CALL();
}

static NOIPA void asleep(void)
{
	nanosleep(&wait_time, NULL);
	NO_TAIL_CALL();
}

static struct kind {
	const char *name;
	void (*fn)(void);
	uint64_t ns, nr;
} kinds[] = {
	{ "on_futex", on_futex, 0, 0 },
	{ "on_pipe", on_pipe, 0, 0 },
	{ "on_socket", on_socket, 0, 0 },
	{ "asleep", asleep, 0, 0 },
};
#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))

static void *run(void *arg)
{
	struct kind *kind = arg;
	uint64_t start = monotonic_ns(), ns;

	kind->fn();
	ns = monotonic_ns() - start;
	kind->ns += ns; /* one thread of a kind at a time */
	kind->nr += ns >= 1000000;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end_ns =
		monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	pthread_t threads[NR_KINDS];

	if (pipe(pipe_fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	while (monotonic_ns() < end_ns) {
		for (size_t i = 0; i < NR_KINDS; i++)
			if (pthread_create(&threads[i], NULL, run, &kinds[i]))
				return 1;
		nanosleep(&wait_time, NULL);
		if (write(pipe_fds[1], "", 1) != 1 || send(sockets[1], "", 1, 0) != 1)
			return 1;
		for (size_t i = 0; i < NR_KINDS; i++)
			pthread_join(threads[i], NULL);
		nanosleep(&pause_time, NULL);
	}
	for (size_t i = 0; i < NR_KINDS; i++)
		printf("%s %" PRIu64 " %" PRIu64 "\n", kinds[i].name, kinds[i].ns, kinds[i].nr);
	return 0;
}
