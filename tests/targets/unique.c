// Nearly every sample has a stack of its own: a random walk of 16 steps, or of argv[2], through
// four functions, then bottom. All time is in main;(16 of step_a ... step_d);bottom.
// BUILD: -fomit-frame-pointer
#include "tests/targets/work.h"

#include <string.h>

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
			return steps[random >> 30](depth - 1, random * 1664525 + 1013904223) + 1;  \
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
		steps[(random) >> 62](nr_steps, (unsigned)((random) >> 32));                       \
	}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0, random = 1;
	unsigned nr_steps = argc > 2 ? (unsigned)atoi(argv[2]) : 16;
	char any[2 * 512] = "";

	if (!nr_steps || nr_steps >= sizeof(any) / 2)
		return 2;
	for (unsigned i = 0; i < nr_steps; i++)
		strcat(any, ";*");
	while (ns < budget)
		TIMED(ns, WALK(random));
	truth(ns, "main%s;bottom", any);
	return 0;
}
