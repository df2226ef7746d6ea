// exec_chain MS: a process that execs its own program four times. True shares: main;stage_0 ...
// main;stage_4, 20 % each.
#include "tests/targets/work.h"

#include <unistd.h>

#define STAGE(n)                                                                                   \
	NOIPA void stage_##n(void)                                                                 \
	{                                                                                          \
		BURN(20);                                                                          \
	}

/* clang-format off */
STAGE(0) STAGE(1) STAGE(2) STAGE(3) STAGE(4)
	/* clang-format on */

	static void (*const stages[])(void) = { stage_0, stage_1, stage_2, stage_3, stage_4 };

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv) / 5, ns = 0;
	int stage = argc > 2 ? atoi(argv[2]) : 0;
	char next[16];

	if (stage < 0 || stage > 4)
		return 1;
	while (ns < budget)
		TIMED(ns, stages[stage]());
	truth(ns, "main;stage_%d", stage);
	if (stage == 4)
		return 0;
	snprintf(next, sizeof(next), "%d", stage + 1);
	execl(argv[0], argv[0], argc > 1 ? argv[1] : "2000", next, NULL);
	return 1;
}
