/*
 * Threads that wait, each for one thing and in a function of its own:
 *
 *	waiting MILLISECONDS
 *
 * At its end each thread prints `NAME waiting NS runnable NS cpu NS wall NS`, by the kernel's own
 * counts (/proc/self/task/TID/schedstat) over the life of its function.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

#define NOIPA __attribute__((noipa))
#define NO_TAIL_CALL() __asm__ volatile("")

static uint64_t end_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipe_fds[2], never[2], sockets[2];

static bool is_over(void)
{
	return monotonic_ns() >= end_ns;
}

static void pass(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

static void read_schedstat(uint64_t *cpu, uint64_t *delay)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)gettid());
	f = fopen(path, "r");
	*cpu = *delay = 0;
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, cpu, delay) != 2)
		fprintf(stderr, "no %s\n", path);
	if (f)
		fclose(f);
}

static NOIPA void sleeps(void)
{
	while (!is_over())
		pass(5000000);
	NO_TAIL_CALL();
}

/* Waits of less than a millisecond. */
static NOIPA void naps(void)
{
	while (!is_over())
		pass(200000);
	NO_TAIL_CALL();
}

static NOIPA void wants_lock(void)
{
	while (!is_over()) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pass(1000000);
	}
	NO_TAIL_CALL();
}

static NOIPA void holds_lock(void)
{
	while (!is_over()) {
		pthread_mutex_lock(&lock);
		pass(6000000);
		pthread_mutex_unlock(&lock);
		pass(500000);
	}
	NO_TAIL_CALL();
}

static NOIPA void reads_pipe(void)
{
	char byte;

	while (read(pipe_fds[0], &byte, 1) == 1 && !is_over())
		;
	NO_TAIL_CALL();
}

static NOIPA void reads_socket(void)
{
	char byte;

	while (recv(sockets[0], &byte, 1, 0) == 1 && !is_over())
		;
	NO_TAIL_CALL();
}

static NOIPA void writes(void)
{
	while (!is_over()) {
		pass(4000000);
		if (write(pipe_fds[1], "", 1) != 1 || send(sockets[1], "", 1, 0) != 1)
			return;
	}
	pass(1000000);
	if (write(pipe_fds[1], "", 1) != 1 || send(sockets[1], "", 1, 0) != 1)
		return;
	NO_TAIL_CALL();
}

static NOIPA void polls(void)
{
	struct pollfd fd = { .fd = never[0], .events = POLLIN };

	while (!is_over())
		poll(&fd, 1, 7);
	NO_TAIL_CALL();
}

/* Waits for something that never comes, from its beginning to the end. */
static NOIPA void waits_on(void)
{
	struct pollfd fd = { .fd = never[0], .events = POLLIN };

	poll(&fd, 1, (int)((end_ns - monotonic_ns()) / 1000000));
	NO_TAIL_CALL();
}

/* Two threads of this kind share a CPU. */
static NOIPA void competes(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (!is_over())
		for (volatile int i = 0; i < 20000; i++)
			;
	NO_TAIL_CALL();
}

static const struct kind {
	const char *name;
	void (*fn)(void);
} kinds[] = {
	{ "sleeps", sleeps },	      { "naps", naps },
	{ "wants_lock", wants_lock }, { "holds_lock", holds_lock },
	{ "reads_pipe", reads_pipe }, { "reads_socket", reads_socket },
	{ "writes", writes },	      { "polls", polls },
	{ "waits_on", waits_on },     { "competes1", competes },
	{ "competes2", competes },
};
#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))

static void *run(void *arg)
{
	const struct kind *kind = arg;
	uint64_t start, wall, cpu[2], delay[2];

	prctl(PR_SET_NAME, kind->name);
	read_schedstat(&cpu[0], &delay[0]);
	start = monotonic_ns();
	kind->fn();
	wall = monotonic_ns() - start;
	read_schedstat(&cpu[1], &delay[1]);
	cpu[1] -= cpu[0];
	delay[1] -= delay[0];
	printf("%s waiting %" PRIu64 " runnable %" PRIu64 " cpu %" PRIu64 " wall %" PRIu64 "\n",
	       kind->name, cpu[1] + delay[1] < wall ? wall - cpu[1] - delay[1] : 0, delay[1],
	       cpu[1], wall);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_KINDS];

	end_ns = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	if (pipe(pipe_fds) || pipe(never) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	for (size_t i = 0; i < NR_KINDS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)&kinds[i]))
			return 1;
	for (size_t i = 0; i < NR_KINDS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
