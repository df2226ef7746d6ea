/* core/base/path.h: the base name of a path. */
#include "tests/unit/unit.h"

#include "core/base/path.h"

static void a_base_name_has_no_slash_before_it(void **state)
{
	(void)state;
	assert_string_equal(path_base_name("/usr/lib/libc.so.6"), "libc.so.6");
	assert_string_equal(path_base_name("train.py"), "train.py");
	assert_string_equal(path_base_name("/"), "/");
	assert_string_equal(path_base_name("a/"), "a/");
	assert_string_equal(path_base_name(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_base_name_has_no_slash_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
