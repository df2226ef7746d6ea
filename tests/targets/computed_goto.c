// Runs small programs of its own in a loop; where each instruction is done is a computed goto, so
// rules cannot be derived from its code: they are in .debug_frame alone.
// BUILD: -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
#include <stdlib.h>

static volatile unsigned long sum;

static unsigned long __attribute__((noipa)) run(const unsigned char *at, volatile long *left)
{
	static const void *const places[] = { &&add, &&multiply, &&jump, &&end };
	unsigned long value = 1, room[20];

	goto *places[*at++];
add:
	value += room[value % 20] = *left;
	goto *places[*at++];
multiply:
	for (int i = 0; i < 20; i++)
		value = value * 31 + room[i] / 3;
	goto *places[*at++];
jump:
	if (--*left)
		at -= 3;
	goto *places[*at++];
end:
	return value + room[1];
}

int main(int argc, char **argv)
{
	static const unsigned char program[] = { 0, 1, 2, 3 };
	volatile long left = 0;

	left = argc > 1 ? atol(argv[1]) : 10000000;
	sum = run(program, &left);
	return 0;
}
