/*
 * Events of the kernel in known numbers:
 *
 *	kernel_events N
 *
 * few() faults in 3 N pages and many() 7 N, naps() sleeps N times for 100 us, each of which is a
 * context switch, and asks() calls getppid 5 N times. Faults and calls are some microseconds apart,
 * so that the kernel does not throttle an event that samples each of them. Prints `FUNCTION COUNT`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 512 /* pages that are mapped at a time */
#define PAUSE_NS 20000

static void pause_ns(long ns)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000l + now.tv_nsec - begin.tv_nsec < ns);
}

static inline __attribute__((always_inline)) void touch(long nr_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (long left = nr_pages; left > 0; left -= CHUNK) {
		long nr = left < CHUNK ? left : CHUNK;
		char *at = mmap(NULL, CHUNK * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			exit(1);
		madvise(at, CHUNK * page, MADV_NOHUGEPAGE);
		for (long i = 0; i < nr; i++) {
			*(volatile char *)(at + (size_t)i * page) = 1;
			pause_ns(PAUSE_NS);
		}
		munmap(at, CHUNK * page);
	}
}

static __attribute__((noipa)) void few(long n)
{
	touch(3 * n);
	__asm__ volatile("");
}

static __attribute__((noipa)) void many(long n)
{
	touch(7 * n);
	__asm__ volatile("");
}

static __attribute__((noipa)) void naps(long n)
{
	struct timespec t = { 0, 100000 };

	for (long i = 0; i < n; i++)
		nanosleep(&t, NULL);
	__asm__ volatile("");
}

static __attribute__((noipa)) void asks(long n)
{
	for (long i = 0; i < 5 * n; i++) {
		syscall(SYS_getppid);
		pause_ns(PAUSE_NS);
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;

	few(n);
	many(n);
	naps(n);
	asks(n);
	printf("few %ld\nmany %ld\nnaps %ld\nasks %ld\n", 3 * n, 7 * n, n, 5 * n);
	return 0;
}
