// same_place_a MS [TURNS]: runs for MS with a frame of its own below main, then execs same_place_b,
// which differs only in the size of that frame, and so on in six turns. True shares:
// main;frame_a;work and main;frame_b;work, each within its own program.
// BUILD: -no-pie -fno-pie
#include "tests/targets/frame.h"
#include "tests/targets/work.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define NAME_OF_(x) #x
#define NAME_OF(x) NAME_OF_(x)

#ifndef OWN_FRAME
#define OWN_FRAME frame_a
FRAME(frame_a, 40, 8);
#endif

NOIPA void work(void)
{
	BURN(8);
}

static int become_sibling(const char *ms, int turns)
{
	char path[PATH_MAX], left[16], place[32];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (size < 1)
		return 1;
	path[size] = 0;
	path[size - 1] ^= 'a' ^ 'b';
	snprintf(left, sizeof(left), "%d", turns);
	snprintf(place, sizeof(place), "%p", (void *)OWN_FRAME);
	execl(path, path, ms, left, place, NULL);
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns = 0;
	int turns = argc > 2 ? atoi(argv[2]) : 6;
	char place[32];

	snprintf(place, sizeof(place), "%p", (void *)OWN_FRAME);
	if (argc > 3 && strcmp(place, argv[3]) != 0) {
		fprintf(stderr, "same_place_a: the programs do not share an address\n");
		return 1;
	}
	while (ns < budget)
		TIMED(ns, OWN_FRAME(work));
	truth(ns, "main;" NAME_OF(OWN_FRAME) ";work");
	return turns > 1 ? become_sibling(argv[1], turns - 1) : 0;
}
