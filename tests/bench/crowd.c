/*
 * crowd N: N processes, each a program of its own that works a little, below 20 frames, ten times a
 * second, and uses 0.2 % of a CPU. They end with this one.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 100000000L
#define FRAMES 20
#define SHARE 0.002

static volatile unsigned long work;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void below(int frames, double until)
{
	if (frames)
		below(frames - 1, until);
	else
		while (seconds(CLOCK_PROCESS_CPUTIME_ID) < until)
			for (int i = 0; i < 1000; i++)
				work += (unsigned long)i * work;
	__asm__ volatile(""); /* no tail call */
}

static __attribute__((noreturn)) void member(void)
{
	struct timespec pause = { 0, PERIOD_NS };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srand((unsigned int)getpid());
	pause.tv_nsec = rand() % PERIOD_NS; /* not all at once */
	nanosleep(&pause, NULL);
	for (;;) {
		below(FRAMES, seconds(CLOCK_PROCESS_CPUTIME_ID) + SHARE * PERIOD_NS / 1e9);
		pause.tv_nsec = PERIOD_NS;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	int nr;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "member"))
		member();
	nr = atoi(argv[1]);
	for (int i = 0; i < nr; i++)
		if (!fork()) {
			execl("/proc/self/exe", argv[0], "member", (char *)NULL);
			_exit(127);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
