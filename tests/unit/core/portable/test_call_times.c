/* core/portable/call_times.h: every time has one bucket, which knows it to an eighth. */
#include "tests/unit/unit.h"

#include "core/portable/call_times.h"

static void a_bucket_holds_its_times_and_no_others(void **state)
{
	(void)state;
	for (__u32 i = 0; i + 1 < CALL_BUCKETS; i++) {
		__u64 first = call_bucket_start(i), next = call_bucket_start(i + 1);

		assert_true(first < next);
		assert_int_equal(call_bucket_of(first), i);
		assert_int_equal(call_bucket_of(next - 1), i);
		assert_true(call_bucket_middle(i) >= first && call_bucket_middle(i) < next);
		assert_true((next - 1 - first) * 8 <= first);
	}
	assert_int_equal(call_bucket_of(~0ull), CALL_BUCKETS - 1);
}

static void percentiles_are_those_of_all_calls(void **state)
{
	__u64 calls[CALL_BUCKETS] = { 0 };

	(void)state;
	assert_int_equal(call_times_percentile(calls, 50, 1000), 0);
	calls[3] = 99;
	calls[call_bucket_of(5000)] = 1;
	assert_int_equal(call_times_percentile(calls, 50, 5000), 3);
	assert_int_equal(call_times_percentile(calls, 99, 5000), 3);
	calls[call_bucket_of(5000)] = 2;
	assert_int_equal(call_bucket_of(call_times_percentile(calls, 99, 5100)),
			 call_bucket_of(5000));
	/* No percentile is above the longest call. */
	assert_int_equal(call_times_percentile(calls, 100, 4610), 4610);
}

static void large_numbers_of_calls_do_not_overflow(void **state)
{
	__u64 calls[CALL_BUCKETS] = { 0 };

	(void)state;
	calls[1] = 1ull << 62;
	calls[2] = 1ull << 62;
	assert_int_equal(call_times_percentile(calls, 50, 100), 1);
	assert_int_equal(call_times_percentile(calls, 99, 100), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_holds_its_times_and_no_others),
		cmocka_unit_test(percentiles_are_those_of_all_calls),
		cmocka_unit_test(large_numbers_of_calls_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
