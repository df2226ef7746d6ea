// True shares: main;part_50 50 %, main;part_30 30 %, main;part_20 20 %. All three are leaf
// functions without frames of their own.
#include "tests/targets/work.h"

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

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_50 = 0, ns_30 = 0, ns_20 = 0;

	while (ns_50 + ns_30 + ns_20 < budget) {
		TIMED(ns_50, part_50());
		TIMED(ns_30, part_30());
		TIMED(ns_20, part_20());
	}
	truth(ns_50, "main;part_50");
	truth(ns_30, "main;part_30");
	truth(ns_20, "main;part_20");
	return 0;
}
