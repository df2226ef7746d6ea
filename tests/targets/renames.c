// One thread that is named first and second in turn, for 10 ms each: 50 % each.
#include "tests/targets/work.h"

NOIPA void leaf(void)
{
	BURN(30);
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), first = 0, second = 0;

	while (first + second < budget) {
		prctl(PR_SET_NAME, "first");
		TIMED(first, leaf());
		prctl(PR_SET_NAME, "second");
		TIMED(second, leaf());
	}
	prctl(PR_SET_NAME, "first");
	truth(first, "main;leaf");
	prctl(PR_SET_NAME, "second");
	truth(second, "main;leaf");
	return 0;
}
