// Loaded and unloaded by dlopen.c, at the address where libplug_b was before. True shape:
// plug_a;plug_a_work.
#include "tests/targets/work.h"

NOIPA void plug_a_work(void)
{
	BURN(45);
}

NOIPA void plug_a(void)
{
	plug_a_work();
	NO_TAIL_CALL();
}
