/* core/base/search.h: the place of a number in arrays of every length up to 9. */
#include "tests/unit/unit.h"

#include "core/base/search.h"

enum { MAX = 9 };

/* In 0, 2, 4, ... the first number that is not below `number` is at half of it, rounded up. */
static void the_first_element_that_is_not_before_is_found(void **state)
{
	size_t list[MAX];

	(void)state;
	for (size_t nr = 0; nr <= MAX; nr++) {
		for (size_t i = 0; i < nr; i++)
			list[i] = 2 * i;
		for (size_t number = 0; number <= 2 * MAX; number++) {
			size_t want = (number + 1) / 2;

			assert_int_equal(SEARCH(i, nr, list[i] < number), want < nr ? want : nr);
		}
	}
}

/* Of equal elements the first. */
static void equal_elements_stay_together(void **state)
{
	static const int list[] = { 1, 3, 3, 3, 5 };

	(void)state;
	assert_int_equal(SEARCH(i, 5, list[i] < 3), 1);
	assert_int_equal(SEARCH(i, 5, list[i] <= 3), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_element_that_is_not_before_is_found),
		cmocka_unit_test(equal_elements_stay_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
