/*
 * Linked into every unit test. cmocka can run a part of its tests but takes the pattern from code only;
 * this takes it from the environment, which is how `make check T=name` runs one test. Each line is printed when its
 * test ends, so that the runner can tell how long the test took.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

static void __attribute__((constructor)) set_up_cmocka(void)
{
	const char *pattern = getenv("UNIT_TEST_FILTER");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pattern)
		cmocka_set_test_filter(pattern);
}
