// renames_late CHILDREN MS: starts children one after the other. Each works 6 ms under the name
// that it inherited, long enough for a sampler to see it, then MS milliseconds under the name
// "late", and ends.
#include "tests/targets/work.h"

#include <sys/wait.h>
#include <unistd.h>

NOIPA void early(void)
{
	BURN(4);
}

NOIPA void late(void)
{
	BURN(4);
}

NOIPA void child(uint64_t budget)
{
	uint64_t early_ns = 0, late_ns = 0;

	while (early_ns < 6000000)
		TIMED(early_ns, early());
	truth(early_ns, "main;child;early");
	prctl(PR_SET_NAME, "late");
	while (late_ns < budget)
		TIMED(late_ns, late());
	truth(late_ns, "main;child;late");
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 10, failed = 0;
	uint64_t budget = (argc > 2 ? strtoull(argv[2], NULL, 10) : 50) * 1000000;

	for (int i = 0; i < nr; i++) {
		int status = 1;
		pid_t pid = fork();

		if (pid == 0) {
			child(budget);
			_exit(0);
		}
		failed |= pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	return failed;
}
