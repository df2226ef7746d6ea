/*
 * System calls of known numbers and times:
 *
 *	system_calls N
 *
 * N times getppid() and a write() of one byte, N / 2 times a close() that fails, twenty times a
 * sleep of 5 ms, of which its function naps() is made. Prints `NAME CALLS ERRORS`.
 *
 *	system_calls N none
 *
 * First 4000 calls of numbers that no system call has, each another one.
 *
 *	system_calls N long
 *
 * First 100000 calls that take longer than a microsecond: reads of 256 KiB of zeros.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR_NAPS 20
#define NR_NONE 4000
#define FIRST_NONE 600
#define NR_LONG 100000

static __attribute__((noipa)) void naps(void)
{
	struct timespec t = { 0, 5000000 };

	for (int i = 0; i < NR_NAPS; i++)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
	__asm__ volatile("");
}

static int read_zeros(void)
{
	static char zeros[262144];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < NR_LONG; i++)
		if (read(fd, zeros, sizeof(zeros)) != sizeof(zeros))
			return 1;
	return close(fd);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10000;
	int fds[2];

	if (pipe(fds) || (argc > 2 && !strcmp(argv[2], "long") && read_zeros()))
		return 1;
	for (long i = 0; argc > 2 && !strcmp(argv[2], "none") && i < NR_NONE; i++)
		syscall(FIRST_NONE + i);
	for (long i = 0; i < n; i++) {
		char byte;

		syscall(SYS_getppid);
		if (write(fds[1], "", 1) != 1 || read(fds[0], &byte, 1) != 1)
			return 1;
		if (i & 1)
			close(-1);
	}
	naps();
	printf("getppid %ld 0\nwrite %ld 0\nclose %ld %ld\nclock_nanosleep %d 0\n", n, n, n / 2,
	       n / 2, NR_NAPS);
	return 0;
}
