// Nearly every sample has a stack of its own: a random walk of 16 steps through four functions,
// then bottom. All time is in main;(16 of step_a ... step_d);bottom.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

typedef unsigned step(unsigned depth, unsigned random);

static step *const steps[4];

NOIPA void bottom(void)
{
	for (int i = 0; i < 100000; i++)
		__asm__ volatile("");
}

#define STEP(name)                                                                                 \
	NOIPA unsigned name(unsigned depth, unsigned random)                                       \
	{                                                                                          \
		if (depth > 1)                                                                     \
			return steps[random & 3](depth - 1, random >> 2) + 1;                      \
		bottom();                                                                          \
		return 1;                                                                          \
	}

/* clang-format off */
STEP(step_a) STEP(step_b) STEP(step_c) STEP(step_d)
	/* clang-format on */

	static step *const steps[4] = { step_a, step_b, step_c, step_d };

#define WALKS 50 /* between two looks at the clock, whose own time is not in the truth */

#define WALK(random)                                                                               \
	for (int i_ = 0; i_ < WALKS; i_++) {                                                       \
		(random) = (random)*6364136223846793005u + 1442695040888963407u;                   \
		steps[(random) >> 62](16, (unsigned)((random) >> 32));                             \
	}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0, random = 1;

	while (ns < budget)
		TIMED(ns, WALK(random));
	truth(ns, "main;*;*;*;*;*;*;*;*;*;*;*;*;*;*;*;*;bottom");
	return 0;
}
