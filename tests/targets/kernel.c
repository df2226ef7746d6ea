// Time in the kernel: short system calls and long ones. True shares: main;short_calls and its
// callees 50 %, main;long_calls 50 %.
#include "tests/targets/work.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char buffer[1 << 20];

NOIPA void short_calls(int nr)
{
	while (nr--)
		syscall(SYS_getpid);
}

NOIPA void long_calls(int zero, int nr)
{
	while (nr--)
		if (read(zero, buffer, sizeof(buffer)) != sizeof(buffer))
			abort();
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_short = 0, ns_long = 0;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (ns_short + ns_long < budget) {
		TIMED(ns_short, short_calls(50000));
		while (ns_long < ns_short)
			TIMED(ns_long, long_calls(zero, 20));
	}
	truth(ns_short, "main;short_calls;**");
	truth(ns_long, "main;long_calls;**");
	return 0;
}
