// BUILD: cli/options/whole_number.c
/* cli/options/whole_number.c: numbers as users type them. */
#include "tests/unit/unit.h"

#include "cli/options/whole_number.h"

static void numbers_up_to_the_limit_are_taken(void **state)
{
	uint64_t number;

	(void)state;
	assert_true(whole_number_parse("0", 0, &number));
	assert_int_equal(number, 0);
	assert_true(whole_number_parse("99", 99, &number));
	assert_int_equal(number, 99);
	assert_true(whole_number_parse("18446744073709551615", UINT64_MAX, &number));
	assert_true(number == UINT64_MAX);
}

static void other_text_and_larger_numbers_are_refused(void **state)
{
	static const char *const wrong[] = {
		"", "-1", "+1", " 1", "1 ", "1x", "0x", "1.", "1e1", "100", "18446744073709551616"
	};
	uint64_t number = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(whole_number_parse(wrong[i], 99, &number));
	assert_int_equal(number, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_up_to_the_limit_are_taken),
		cmocka_unit_test(other_text_and_larger_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
