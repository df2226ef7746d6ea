// recursion MS DEPTH: one function that calls itself, for DEPTH frames, then bottom. All time is in
// main;recurse;...;bottom.
// BUILD: -fomit-frame-pointer -fno-optimize-sibling-calls
#include "tests/targets/work.h"

#include <string.h>
#include <unistd.h>

NOIPA void bottom(void)
{
	BURN(20);
}

NOIPA unsigned recurse(unsigned depth)
{
	unsigned below = 0;

	if (depth > 1)
		below = recurse(depth - 1);
	else
		bottom();
	return below + depth;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
	static const char frame[] = ";recurse";
	char *chain = malloc(depth * strlen(frame) + 1), *end = chain;

	if (!chain)
		return 1;
	/*
	 * Until the rows of a new program are ready, a sample has only a copy of 64 KiB of stack.
	 */
	if (depth > 2000)
		usleep(300000);
	while (ns < budget)
		TIMED(ns, recurse(depth));
	for (unsigned i = 0; i < depth; i++)
		end = stpcpy(end, frame);
	truth(ns, "main%s;bottom", chain);
	free(chain);
	return 0;
}
