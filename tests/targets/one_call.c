/*
 * A thread that waits in one system call, read, for three kinds of descriptors by turns, in a
 * function for each: the kernel's frames differ, the call and the thread do not.
 *
 *	one_call MILLISECONDS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

#define NOIPA __attribute__((noipa))
#define NO_TAIL_CALL() __asm__ volatile("")

enum { PIPE, LOCAL, TCP, KINDS };
static int to_read[KINDS], to_write[KINDS];

static void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

NOIPA static void from_pipe(void)
{
	take(to_read[PIPE]);
	NO_TAIL_CALL();
}

NOIPA static void from_local(void)
{
	take(to_read[LOCAL]);
	NO_TAIL_CALL();
}

NOIPA static void from_tcp(void)
{
	take(to_read[TCP]);
	NO_TAIL_CALL();
}

static void *read_all(void *end)
{
	prctl(PR_SET_NAME, "one_call_reads");
	while (monotonic_ns() < *(uint64_t *)end) {
		from_pipe();
		from_local();
		from_tcp();
	}
	exit(0);
}

static void connect_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t size = sizeof(a);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to_write[TCP] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listening, (struct sockaddr *)&a, sizeof(a)) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&a, &size) ||
	    connect(to_write[TCP], (struct sockaddr *)&a, sizeof(a)))
		abort();
	to_read[TCP] = accept(listening, NULL, NULL);
}

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 2000000 };
	uint64_t end = monotonic_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000000;
	int fds[2];
	pthread_t thread;

	if (pipe(fds))
		abort();
	to_read[PIPE] = fds[0];
	to_write[PIPE] = fds[1];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		abort();
	to_read[LOCAL] = fds[0];
	to_write[LOCAL] = fds[1];
	connect_tcp();
	if (pthread_create(&thread, NULL, read_all, &end))
		abort();
	for (int kind = 0;; kind = (kind + 1) % KINDS) {
		nanosleep(&pause, NULL);
		if (write(to_write[kind], "x", 1) != 1)
			abort();
	}
}
