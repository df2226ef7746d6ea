// Loaded and unloaded by dlopen.c, at the address that libplug_b had before. True stack:
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
