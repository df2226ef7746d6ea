// Loaded and unloaded by dlopen.c, at the address that libplug_a had before. True stack:
// plug_b;plug_b_work.
#include "tests/targets/work.h"

NOIPA void plug_b_work(void)
{
	BURN(30);
}

NOIPA void plug_b(void)
{
	plug_b_work();
	NO_TAIL_CALL();
}
