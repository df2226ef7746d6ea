// A server that forks its workers before it works: true shares are lead 10 %, part_50 45 %, part_30
// 27 %, part_20 18 %, the latter three in a process each, worker_50, worker_30 and worker_20. They
// work in turn, so the shares are the same at any time and on any number of CPUs.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/work.h"

#define NR_WORKERS 3

NOIPA void part_50(void)
{
	BURN(50);
}

NOIPA void part_30(void)
{
	BURN(30);
}

NOIPA void part_20(void)
{
	BURN(20);
}

NOIPA void lead(void)
{
	BURN(11);
}

static const struct {
	const char *name, *chain;
	void (*part)(void);
} workers[NR_WORKERS] = {
	{ "worker_50", "main;part_50", part_50 },
	{ "worker_30", "main;part_30", part_30 },
	{ "worker_20", "main;part_20", part_20 },
};

/* Has the token come? False: the one before has ended. */
static int take(int fd)
{
	char token;

	return read(fd, &token, 1) == 1;
}

static void pass(int fd)
{
	if (write(fd, "", 1) != 1)
		abort();
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	/* Each one reads from its own pipe and writes to the next one's. */
	int pipes[NR_WORKERS + 1][2];

	for (int i = 0; i <= NR_WORKERS; i++)
		if (pipe(pipes[i]))
			abort();
	for (int i = 0; i < NR_WORKERS; i++) {
		if (fork())
			continue;
		prctl(PR_SET_NAME, workers[i].name);
		prctl(PR_SET_PDEATHSIG, 9);
		for (int j = 0; j <= NR_WORKERS; j++) {
			if (j != i)
				close(pipes[j][0]);
			if (j != i + 1)
				close(pipes[j][1]);
		}
		while (take(pipes[i][0])) {
			TIMED(ns, workers[i].part());
			pass(pipes[i + 1][1]);
		}
		truth(ns, "%s", workers[i].chain);
		return 0;
	}
	for (int j = 1; j <= NR_WORKERS; j++)
		close(pipes[j][1]);
	while (ns < budget / 10) {
		TIMED(ns, lead());
		pass(pipes[0][1]);
		if (!take(pipes[NR_WORKERS][0]))
			abort();
	}
	close(pipes[0][1]);
	while (wait(NULL) > 0)
		;
	truth(ns, "main;lead");
	return 0;
}
