/* sampler/perf/frame_reader.c: how long a reader waited for its CPU. */
#include "tests/unit/unit.h"

#include "sampler/perf/frame_reader.h"

static void the_second_number_of_schedstat_is_the_wait(void **state)
{
	uint64_t ns = 0;

	(void)state;
	assert_true(frame_reader_waited("1482 76854 3\n", &ns));
	assert_int_equal(ns, 76854);
	assert_true(frame_reader_waited("0 0 1\n", &ns));
	assert_int_equal(ns, 0);
}

/* A kernel without CONFIG_SCHED_INFO writes zeros: such a reader did not get its CPU at once. */
static void a_kernel_that_counts_no_waits_says_nothing(void **state)
{
	static const char *const texts[] = {
		"0 0 0\n", "", "12", "12 ", "12 5", "12 5 ", "a 5 1\n"
	};
	uint64_t ns = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(frame_reader_waited(texts[i], &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_number_of_schedstat_is_the_wait),
		cmocka_unit_test(a_kernel_that_counts_no_waits_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
