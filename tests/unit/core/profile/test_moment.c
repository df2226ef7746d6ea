/* core/profile/moment.c: times as users write them. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <time.h>

#include "core/profile/moment.h"

#define S UINT64_C(1000000000)

static void assert_moment(const char *text, enum moment_kind kind, uint64_t ns)
{
	struct moment m = { 0 };

	assert_true(moment_parse(text, &m));
	assert_int_equal(m.kind, kind);
	assert_true(m.ns == ns);
}

static void spans_are_of_start_or_end(void **state)
{
	(void)state;
	assert_moment("10", MOMENT_AFTER_START, 10 * S);
	assert_moment("2.5s", MOMENT_AFTER_START, 2500000000);
	assert_moment("250ms", MOMENT_AFTER_START, 250000000);
	assert_moment("0", MOMENT_AFTER_START, 0);
	assert_moment("-2h", MOMENT_BEFORE_END, 7200 * S);
	assert_moment("-1d", MOMENT_BEFORE_END, 86400 * S);
}

static void days_are_local_or_utc(void **state)
{
	(void)state;
	assert_int_equal(setenv("TZ", "UTC-1", 1), 0);
	tzset();
	assert_moment("2023-11-14T22:13:20Z", MOMENT_OF_DAY, 1700000000 * S);
	assert_moment("2023-11-14 23:13:20", MOMENT_OF_DAY, 1700000000 * S);
	assert_moment("2023-11-14T22:13:20.25Z", MOMENT_OF_DAY, 1700000000 * S + S / 4);
	assert_moment("2023-11-14T22:13Z", MOMENT_OF_DAY, (1700000000 - 20) * S);
	assert_moment("2023-11-14Z", MOMENT_OF_DAY, 1699920000 * S);
}

static void other_texts_are_no_times(void **state)
{
	static const char *const texts[] = { "",	"-",   "x",   "10x",	    "-2023-11-14",
					     "2023-11", "+10", "nan", "2023-13-01", "2023-11-14T",
					     "- 10",	"1e30" };
	struct moment m;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(moment_parse(texts[i], &m));
}

static void a_moment_is_a_time_of_the_recording(void **state)
{
	(void)state;
	assert_int_equal(moment_time(&(struct moment){ MOMENT_AFTER_START, 5 }, 100, 200), 105);
	assert_int_equal(moment_time(&(struct moment){ MOMENT_BEFORE_END, 5 }, 100, 200), 195);
	assert_int_equal(moment_time(&(struct moment){ MOMENT_BEFORE_END, 500 }, 100, 200), 0);
	assert_int_equal(moment_time(&(struct moment){ MOMENT_OF_DAY, 5 }, 100, 200), 5);
	assert_true(moment_time(&(struct moment){ MOMENT_AFTER_START, UINT64_MAX }, 100, 200) ==
		    UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_of_start_or_end),
		cmocka_unit_test(days_are_local_or_utc),
		cmocka_unit_test(other_texts_are_no_times),
		cmocka_unit_test(a_moment_is_a_time_of_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
