/*
 * Linked into every unit test. cmocka can run some of its tests only, but takes the pattern from
 * code; this file takes it from the environment, which is how `make check T=name` runs one test. It
 * prints each line when its test ends, so that the runner can measure how long the test took.
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
