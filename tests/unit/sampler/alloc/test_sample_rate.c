/* How many allocations are sampled, by what it takes. */
#include "tests/unit/unit.h"

#include "sampler/alloc/sample_rate.h"

#define SECOND 1000000000ull
#define MIB (1ull << 20)

/* The samples a second that a program gets in the end, which allocates that much in a second. */
static double rate_of(uint64_t bytes_a_second, uint64_t sample_ns)
{
	uint64_t interval = 512 << 10;

	for (int i = 0; i < 60; i++) {
		uint64_t nr = bytes_a_second / 2 / interval;
		const struct alloc_taking taking = { nr * sample_ns, nr };

		interval = alloc_next_interval(interval, nr, SECOND / 2, &taking);
	}
	return (double)bytes_a_second / (double)interval;
}

static void near(double value, double wanted)
{
	assert_true(value > wanted * 0.97 && value < wanted * 1.03);
}

static void cheap_samples_are_2000_a_second(void **state)
{
	(void)state;
	near(rate_of(4000 * MIB, 0), 2000);
	near(rate_of(4000 * MIB, 500), 2000);
	near(rate_of(400000 * MIB, 1900), 2000);
}

static void dear_samples_take_a_small_share_of_the_time(void **state)
{
	(void)state;
	near(rate_of(4000 * MIB, 4000), 1000);
	near(rate_of(4000 * MIB, 10000), 400);
	near(rate_of(4000 * MIB, 20000), 200);
}

static void some_are_taken_whatever_they_cost(void **state)
{
	(void)state;
	near(rate_of(4000 * MIB, 100000), 100);
}

static void little_memory_is_sampled_each_64_kib(void **state)
{
	(void)state;
	near(rate_of(8 * MIB, 500), 128);
}

static void an_interval_changes_by_a_factor_of_two(void **state)
{
	const struct alloc_taking dear = { 100000ull * 2000, 2000 }, none = { 0, 0 };

	(void)state;
	assert_int_equal(alloc_next_interval(MIB, 2000, SECOND, &dear), 2 * MIB);
	assert_int_equal(alloc_next_interval(MIB, 0, SECOND, &none), MIB / 2);
	assert_int_equal(alloc_next_interval(MIB, 1, SECOND, &none), MIB / 2);
}

static void numbers_of_a_target_that_make_no_sense_are_bounded(void **state)
{
	const uint64_t odd[] = { 0, 1, SECOND, UINT64_MAX };

	(void)state;
	for (int i = 0; i < 4 * 4 * 4 * 4; i++) {
		const struct alloc_taking taking = { odd[i & 3], odd[i >> 2 & 3] };
		uint64_t next = alloc_next_interval(MIB, odd[i >> 4 & 3], odd[i >> 6], &taking);

		assert_in_range(next, MIB / 2, 2 * MIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheap_samples_are_2000_a_second),
		cmocka_unit_test(dear_samples_take_a_small_share_of_the_time),
		cmocka_unit_test(some_are_taken_whatever_they_cost),
		cmocka_unit_test(little_memory_is_sampled_each_64_kib),
		cmocka_unit_test(an_interval_changes_by_a_factor_of_two),
		cmocka_unit_test(numbers_of_a_target_that_make_no_sense_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
