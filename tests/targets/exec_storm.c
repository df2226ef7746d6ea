// BUILD: -static
/*
 * Starts programs as fast as it can, each of which ends at once:
 *
 *	exec_storm MS [PROCESSES]
 *
 * so many processes (2) take turns of fork, exec and wait. Prints how many programs were started in
 * a second. The program is linked statically, so that starting it takes little.
 */
#include "tests/targets/work.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 64

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static NOIPA void starts_programs(const char *self, uint64_t until, volatile uint64_t *nr)
{
	while (now_ns() < until) {
		pid_t pid = vfork();

		if (!pid) {
			execl(self, self, "end", NULL);
			_exit(1);
		}
		if (pid > 0 && waitpid(pid, NULL, 0) == pid)
			++*nr;
	}
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 2;
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, sum = 0, start = now_ns();
	uint64_t *counts = mmap(NULL, MAX_PROCESSES * sizeof(*counts), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (argc > 1 && !strcmp(argv[1], "end"))
		return 0;
	if (counts == MAP_FAILED || nr < 1 || nr > MAX_PROCESSES)
		return 1;
	for (int i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (!pid) {
			starts_programs("/proc/self/exe", start + ms * 1000000, &counts[i]);
			_exit(0);
		}
		if (pid < 0)
			return 1;
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < nr; i++)
		sum += counts[i];
	printf("%llu\n", (unsigned long long)(sum * 1000000000 / (now_ns() - start)));
	return 0;
}
