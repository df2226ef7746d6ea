// BUILD: cli/options/duration.c
/* cli/options/duration.c: spans of time as users type them. */
#include "tests/unit/unit.h"

#include "cli/options/duration.h"

static void every_unit_is_understood(void **state)
{
	(void)state;
	assert_int_equal(duration_parse("2"), 2000000000ull);
	assert_int_equal(duration_parse("2s"), 2000000000ull);
	assert_int_equal(duration_parse("1.5ms"), 1500000ull);
	assert_int_equal(duration_parse("3us"), 3000ull);
	assert_int_equal(duration_parse("2m"), 120000000000ull);
	assert_int_equal(duration_parse("2h"), 7200000000000ull);
	assert_int_equal(duration_parse("100000d"), 8640000000000000000ull);
}

static void what_is_none_or_too_long_is_refused(void **state)
{
	static const char *const wrong[] = { "",    "s",   "0",	  "-1s",      "nan", "inf",   "1e9",
					     "1 s", "1sm", "1ns", "9000000d", "0x",  "1e-9us" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(duration_parse(wrong[i]), 0);
}

static void no_time_is_told_from_what_is_none(void **state)
{
	uint64_t ns = 1;

	(void)state;
	assert_true(duration_read("0", &ns) && !ns);
	ns = 1;
	assert_true(duration_read("0s", &ns) && !ns);
	assert_false(duration_read("s", &ns));
	assert_false(duration_read("-1s", &ns));
	assert_false(duration_read("0x", &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_unit_is_understood),
		cmocka_unit_test(what_is_none_or_too_long_is_refused),
		cmocka_unit_test(no_time_is_told_from_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
