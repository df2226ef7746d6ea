// Children started through vfork and through posix_spawn, five each. True shares:
// main;child;after_vfork 50 %, main;child;after_posix_spawn 50 %.
#include "tests/targets/work.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

NOIPA void after_vfork(void)
{
	BURN(20);
}

NOIPA void after_posix_spawn(void)
{
	BURN(20);
}

NOIPA void child(const char *how, uint64_t budget)
{
	int by_vfork = strcmp(how, "vfork") == 0;
	uint64_t ns = 0;

	while (ns < budget)
		TIMED(ns, by_vfork ? after_vfork() : after_posix_spawn());
	truth(ns, by_vfork ? "main;child;after_vfork" : "main;child;after_posix_spawn");
}

static pid_t start(char **args, int by_vfork)
{
	pid_t pid;

	if (!by_vfork)
		return posix_spawn(&pid, args[0], NULL, NULL, args, environ) ? -1 : pid;
	pid = vfork();
	if (pid == 0) {
		execv(args[0], args);
		_exit(1);
	}
	return pid;
}

int main(int argc, char **argv)
{
	char *ms = argc > 1 ? argv[1] : "2000";
	int failed = 0, status;

	if (argc > 2) {
		child(argv[2], budget_ns(argc, argv) / 10);
		return 0;
	}
	for (int i = 0; i < 10; i++) {
		char *args[] = { argv[0], ms, i % 2 ? "vfork" : "posix_spawn", NULL };

		failed |= start(args, i % 2) < 0;
		failed |= wait(&status) < 0 || status;
	}
	return failed;
}
