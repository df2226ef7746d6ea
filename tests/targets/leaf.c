// Leaf functions that get no frame from the compiler although all other functions keep frame
// pointers: a frame-pointer walk loses their callers. True shares: left;leaf_1 25 %, left;leaf_2 25
// %, right;leaf_1 50 %.
// BUILD: -fno-omit-frame-pointer -momit-leaf-frame-pointer
#include "tests/targets/work.h"

NOIPA void leaf_1(int units)
{
	BURN(units);
}

NOIPA void leaf_2(int units)
{
	BURN(units);
}

static uint64_t ns_left_1, ns_left_2, ns_right_1;

NOIPA void left(void)
{
	TIMED(ns_left_1, leaf_1(25));
	TIMED(ns_left_2, leaf_2(25));
}

NOIPA void right(void)
{
	TIMED(ns_right_1, leaf_1(50));
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv);

	while (ns_left_1 + ns_left_2 + ns_right_1 < budget) {
		left();
		right();
	}
	truth(ns_left_1, "main;left;leaf_1");
	truth(ns_left_2, "main;left;leaf_2");
	truth(ns_right_1, "main;right;leaf_1");
	return 0;
}
