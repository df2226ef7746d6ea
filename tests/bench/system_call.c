/* system_call N: prints the ns that each of N calls of getppid() takes of the CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	double start = cpu_ns();

	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	printf("%.1f\n", (cpu_ns() - start) / (double)n);
	return 0;
}
