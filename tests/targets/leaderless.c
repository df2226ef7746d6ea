// The first thread ends, which leaves /proc/PID/maps empty; another does all the work, in
// heir;leaf.
#include "tests/targets/work.h"

#include <pthread.h>
#include <unistd.h>

static uint64_t budget;

NOIPA void leaf(void)
{
	BURN(10);
}

NOIPA void *heir(void *arg)
{
	uint64_t ns = 0;

	(void)arg;
	while (ns < budget)
		TIMED(ns, leaf());
	truth(ns, "heir;leaf");
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	budget = budget_ns(argc, argv);
	if (pthread_create(&thread, NULL, heir, NULL))
		return 1;
	pthread_exit(NULL);
}
