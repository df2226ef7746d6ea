// BUILD: -rdynamic -pthread
/*
 * So many processes that tables of a recorder overflow:
 *
 *	many_processes wait N MS
 *	many_processes python N MS
 *
 * Starts N processes that wait: with `wait` ones that share its memory and so take little, with
 * `python` programs of their own that claim to be CPython 3.11, each at other addresses. Prints
 * `ready` and starts one more, which uses the CPU for MS ms, in beyond(), while the first one works
 * in within() as long. Prints `ended` when both have; the others end with it.
 */
#include "tests/targets/fake_python.h"
#include "tests/targets/work.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 4096

static NOIPA void beyond(uint64_t ns)
{
	while (cpu_ns() < ns)
		BURN(1);
	NO_TAIL_CALL();
}

static NOIPA void within(uint64_t ns)
{
	while (cpu_ns() < ns)
		BURN(1);
	NO_TAIL_CALL();
}

static _Noreturn int wait_for_end(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static bool start_waiting(int nr)
{
	char *stacks = mmap(NULL, (size_t)nr * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stacks == MAP_FAILED)
		return false;
	for (int i = 0; i < nr; i++)
		if (clone(wait_for_end, stacks + (size_t)(i + 1) * STACK_BYTES, CLONE_VM | SIGCHLD,
			  NULL) < 0)
			return false;
	return true;
}

static bool start_pythons(int nr, const char *self)
{
	for (int i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl(self, self, "claim", NULL);
			_exit(1);
		}
		if (pid < 0)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 0, status;
	uint64_t ns = (argc > 3 ? strtoull(argv[3], NULL, 10) : 1000) * 1000000;
	pid_t last;

	make_runtime();
	pthread_setspecific(key, (void *)(uintptr_t)at(thread_state));
	if (argc > 1 && !strcmp(argv[1], "claim"))
		wait_for_end(NULL);
	if (argc < 3 ||
	    !(strcmp(argv[1], "python") ? start_waiting(nr) : start_pythons(nr, argv[0]))) {
		perror("too few processes");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	sleep(2); /* until the recorder has heard of all */
	last = fork();
	if (!last) {
		prctl(PR_SET_NAME, "last_process");
		beyond(ns);
		_exit(0);
	}
	within(ns);
	waitpid(last, &status, 0);
	printf("ended\n");
	fflush(stdout);
	return 0; /* the others end with it */
}
