// BUILD: cli/options/byte_size.c
/* cli/options/byte_size.c: sizes as users type them. */
#include "tests/unit/unit.h"

#include "cli/options/byte_size.h"

static void every_unit_is_understood(void **state)
{
	(void)state;
	assert_int_equal(byte_size_parse("65536"), 65536);
	assert_int_equal(byte_size_parse("64k"), 65536);
	assert_int_equal(byte_size_parse("64K"), 65536);
	assert_int_equal(byte_size_parse("1.5m"), 3u << 19);
	assert_int_equal(byte_size_parse("2G"), 2ull << 30);
	assert_int_equal(byte_size_parse("1t"), 1ull << 40);
}

static void what_is_none_or_too_large_is_refused(void **state)
{
	static const char *const wrong[] = { "",    "k",   "0",	  "-1", "nan",
					     "inf", "1kk", "1 k", "1x", "1e18" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(byte_size_parse(wrong[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_unit_is_understood),
		cmocka_unit_test(what_is_none_or_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
