// After 1 s it starts a child named "child", which loads a library and works in it. The parent
// always works in main;parent, the child in main;plugin;plug_a;plug_a_work: 50 % each while both
// live.
// BUILD: -Wl,-rpath,$ORIGIN
#include "tests/targets/work.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

NOIPA void parent(void)
{
	BURN(10);
}

NOIPA int plugin(uint64_t budget)
{
	void *handle = dlopen("libplug_a.so", RTLD_NOW);
	void (*plug)(void) = handle ? (void (*)(void))dlsym(handle, "plug_a") : NULL;
	uint64_t ns = 0;

	if (!plug)
		return 1;
	while (ns < budget)
		TIMED(ns, plug());
	truth(ns, "main;plugin;plug_a;plug_a_work");
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	pid_t child = 0;

	while (ns < budget) {
		TIMED(ns, parent());
		if (child || ns < 1000000000)
			continue;
		child = fork();
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, "child");
			exit(plugin(budget));
		}
	}
	truth(ns, "main;parent");
	return child > 0 && waitpid(child, NULL, 0) == child ? 0 : 1;
}
