// Frames whose size is only known at run time. True shares, all below main: realigned;part_40 40 %
// (the stack is aligned to 64 bytes and the CFA is kept in a register or a slot: DRAP),
// with_alloca;part_30 30 %, with_vla;part_30b 30 %.
// BUILD: -fomit-frame-pointer -mstackrealign
#include "tests/targets/work.h"

#include <alloca.h>
#include <string.h>

NOIPA void part_40(void)
{
	BURN(40);
}

NOIPA void part_30(void)
{
	BURN(30);
}

NOIPA void part_30b(void)
{
	BURN(30);
}

NOIPA void use(void *memory, size_t size)
{
	memset(memory, 1, size);
}

/*
 * Seven arguments: the seventh lies above the frame, so the compiler must keep the old stack
 * pointer.
 */
NOIPA int realigned(int a, int b, int c, int d, int e, int f, int g)
{
	_Alignas(64) char vector[64];
	char *more = alloca((size_t)(a + g) * 16);

	use(vector, sizeof(vector));
	use(more, 16);
	part_40();
	return vector[0] + more[0] + b + c + d + e + f + g;
}

NOIPA int with_alloca(size_t size)
{
	char *memory = alloca(size);

	use(memory, size);
	part_30();
	return memory[0];
}

NOIPA int with_vla(size_t size)
{
	char memory[size];

	use(memory, size);
	part_30b();
	return memory[0];
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), ns_realigned = 0, ns_alloca = 0, ns_vla = 0;
	int sum = 0;

	for (size_t i = 1; ns_realigned + ns_alloca + ns_vla < budget; i++) {
		TIMED(ns_realigned, sum += realigned(1, 2, 3, 4, 5, 6, 7));
		TIMED(ns_alloca, sum += with_alloca(100 * (i % 7 + 1)));
		TIMED(ns_vla, sum += with_vla(100 * (i % 5 + 1)));
	}
	truth(ns_realigned, "main;realigned;part_40");
	truth(ns_alloca, "main;with_alloca;part_30");
	truth(ns_vla, "main;with_vla;part_30b");
	return sum == 0;
}
