// deep_callers MS DEPTH: two callers by turns start the same deep recursion; each has a leaf of its
// own. call_far() has a buffer that it does not write, where the frames of call_near() have been.
// BUILD: -fomit-frame-pointer -fno-optimize-sibling-calls
#include "tests/targets/work.h"

#include <unistd.h>

#define ROUND_NS 30000000ull /* for so long one caller is at work */

NOIPA void bottom_near(void)
{
	BURN(20);
}

NOIPA void bottom_far(void)
{
	BURN(20);
}

NOIPA unsigned recurse(unsigned depth, void (*bottom)(void))
{
	unsigned below = 0;

	if (depth > 1)
		below = recurse(depth - 1, bottom);
	else
		bottom();
	return below + depth;
}

NOIPA unsigned call_near(unsigned depth)
{
	return recurse(depth, bottom_near) + 1;
}

NOIPA unsigned call_far(unsigned depth)
{
	volatile char room[16384];

	room[0] = 1;
	return recurse(depth, bottom_far) + room[0];
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
	unsigned (*const callers[])(unsigned depth) = { call_near, call_far };

	usleep(300000); /* until the rows of the program are ready */
	for (unsigned turn = 0; ns < budget; turn++) {
		uint64_t until = ns + ROUND_NS;

		while (ns < until)
			TIMED(ns, callers[turn & 1](depth));
	}
	truth(ns, "main;call;recurse;bottom");
	return 0;
}
