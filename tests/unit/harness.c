/*
 * Linked into every unit test. cmocka can run a part of its tests but takes the pattern from code only;
 * this takes it from the environment, which is how `make check T=name` runs one test.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

static void __attribute__((constructor)) filter_tests_from_environment(void)
{
	const char *pattern = getenv("UNIT_TEST_FILTER");

	if (pattern)
		cmocka_set_test_filter(pattern);
}
