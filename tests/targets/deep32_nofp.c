// 32 frames from main to the leaf, none of which keeps a frame pointer. True shares:
// ...;f30;leaf_60 60 %, ...;f30;leaf_40 40 %.
// BUILD: -fomit-frame-pointer
#include "tests/targets/deep32.h"

NOIPA void leaf_60(void)
{
	BURN(60);
}

NOIPA void leaf_40(void)
{
	BURN(40);
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_60 = 0, ns_40 = 0;

	while (ns_60 + ns_40 < budget) {
		TIMED(ns_60, deep(leaf_60));
		TIMED(ns_40, deep(leaf_40));
	}
	truth(ns_60, DEEP_CHAIN ";leaf_60");
	truth(ns_40, DEEP_CHAIN ";leaf_40");
	return 0;
}
