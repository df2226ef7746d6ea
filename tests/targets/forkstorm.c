// forkstorm CHILDREN MS: children that live MS milliseconds each, two at a time, each with a name
// of its own. Even ones only fork (fork-N), odd ones also exec (exec-N, through a link of that
// name). True share of each child: 1/CHILDREN.
#include "tests/targets/work.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

NOIPA void child_work(void)
{
	BURN(4);
}

NOIPA void child(uint64_t budget, const char *chain)
{
	uint64_t ns = 0;

	while (ns < budget)
		TIMED(ns, child_work());
	truth(ns, "%s;child;child_work", chain);
}

/*
 * Runs in the new process. After exec the process is named after the link, whatever argv[0] says.
 */
NOIPA int start_child(int number, const char *ms, const char *self)
{
	char name[16];

	snprintf(name, sizeof(name), "%s-%d", number % 2 ? "exec" : "fork", number);
	if (number % 2 == 0) {
		prctl(PR_SET_NAME, name);
		child(strtoull(ms, NULL, 10) * 1000000, "main;start_child");
		return 0;
	}
	if (symlink(self, name))
		return 1;
	execl(name, name, "child", ms, NULL);
	return 1;
}

/* Waits for one child; 0 if it ended well. */
static int reap(void)
{
	int status;

	return wait(&status) > 0 && status == 0 ? 0 : 1;
}

static void remove_links(const char *folder, int nr)
{
	char name[16];

	for (int i = 1; i < nr; i += 2) {
		snprintf(name, sizeof(name), "exec-%d", i);
		unlink(name);
	}
	rmdir(folder);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 40, failed = 0;
	const char *ms = argc > 2 ? argv[2] : "20";
	char folder[] = "/tmp/forkstorm-XXXXXX", *self = realpath("/proc/self/exe", NULL);

	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		child(strtoull(ms, NULL, 10) * 1000000, "main");
		return 0;
	}
	if (!self || !mkdtemp(folder) || chdir(folder))
		return 1;
	for (int i = 0; i < nr; i++) {
		pid_t pid;

		if (i >= 2)
			failed |= reap();
		pid = fork();
		if (pid == 0)
			_exit(start_child(i, ms, self));
		failed |= pid < 0;
	}
	for (int i = 0; i < nr && i < 2; i++)
		failed |= reap();
	remove_links(folder, nr);
	free(self);
	return failed;
}
