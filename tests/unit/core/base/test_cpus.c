/* core/base/cpus.c: lists of CPUs. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cpus.h"

static void expect(const char *text, const int *want, size_t nr_want)
{
	int *cpus;
	size_t nr;

	assert_int_equal(cpus_parse(text, &cpus, &nr), 0);
	assert_int_equal(nr, nr_want);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(cpus[i], want[i]);
	free(cpus);
}

static void lists_and_ranges_are_read(void **state)
{
	(void)state;
	expect("0\n", (int[]){ 0 }, 1);
	expect("0-3\n", (int[]){ 0, 1, 2, 3 }, 4);
	expect("0-1,4,6-7", (int[]){ 0, 1, 4, 6, 7 }, 5);
	expect("65535", (int[]){ 65535 }, 1);
}

static void what_is_no_list_is_refused(void **state)
{
	static const char *const texts[] = { "",    "\n",	    "x",     "-",	   "1-",
					     "1-x", "3-1",	    "1,",    ",1",	   "1,1",
					     "2,1", "0-3,2",	    "65536", "4294967296", "1 2",
					     "-1",  "0-99999999999" };
	int *cpus;
	size_t nr;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(cpus_parse(texts[i], &cpus, &nr), -EINVAL);
}

static void this_machine_has_one(void **state)
{
	int *cpus;
	size_t nr;

	(void)state;
	assert_int_equal(cpus_online(&cpus, &nr), 0);
	assert_true(nr >= 1);
	free(cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_and_ranges_are_read),
		cmocka_unit_test(what_is_no_list_is_refused),
		cmocka_unit_test(this_machine_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
