// calls LEAVES [PIPE]: makes a known number of calls. Four threads and a child process call leaf()
// LEAVES times each, part::twice(int) once for each hundred of them, and part::twice(double) seven
// times. With PIPE, a file or FIFO, the calls begin when something can be read from it. Prints "pid
// PID" at its start.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))

static long nr_leaves;

// Begins with vpbroadcastd %xmm0, %ymm1: a probe on it makes Linux take its opcode for a push.
extern "C" void begins_with_vex();
__asm__(".text\n.globl begins_with_vex\n.type begins_with_vex, @function\n"
	"begins_with_vex: .byte 0xc4, 0xe2, 0x7d, 0x58, 0xc8\n	ret\n"
	".size begins_with_vex, .-begins_with_vex\n");

extern "C" NOIPA long leaf(long x)
{
	return x * 2 + 1;
}

namespace part
{
NOIPA long twice(int x)
{
	return leaf(x) + x;
}

NOIPA double twice(double x)
{
	return x + x;
}
} // namespace part

static void *work(void *)
{
	long sum = 0;

	for (long i = 0; i < nr_leaves; i++)
		sum += leaf(i);
	return (void *)sum;
}

static void wait_for(const char *path)
{
	int fd = open(path, O_RDONLY);
	char byte;

	if (fd < 0 || read(fd, &byte, 1) < 0)
		perror(path);
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	pid_t child;

	nr_leaves = argc > 1 ? atol(argv[1]) : 1000;
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (argc > 2)
		wait_for(argv[2]);
	for (pthread_t &t : threads)
		pthread_create(&t, NULL, work, NULL);
	child = fork();
	if (!child)
		_exit(work(NULL) ? 0 : 1);
	for (pthread_t &t : threads)
		pthread_join(t, NULL);
	waitpid(child, NULL, 0);
	for (long i = 0; i < nr_leaves / 100; i++)
		part::twice((int)i);
	for (int i = 0; i < 7; i++)
		part::twice(i + 0.5);
	if (__builtin_cpu_supports("avx2"))
		begins_with_vex();
	return 0;
}
