/* The clock is a number that the tests choose: seconds pass without waiting. */
#include "tests/unit/unit.h"

#include <string.h>

#include "output/live/slices.h"

#define S 1000000000ull
#define START (1000 * S)

enum { LEFT_OUT = 77 };

static const struct profile_stats no_stats;

static void add(struct slices *s, uint64_t time_ns, uint32_t stack, uint64_t weight)
{
	const struct profile_sample sample = {
		.time_ns = time_ns, .weight = weight, .stack = stack, .thread = 1
	};

	slices_add(s, &sample, LEFT_OUT);
}

/* The sum of weights in the window, and how many samples it has. */
static uint64_t weight_of(const struct slices *s, size_t *ret_nr)
{
	struct profile_sample *list = slices_samples(s, ret_nr);
	uint64_t sum = 0;

	for (size_t i = 0; i < *ret_nr; i++)
		sum += list[i].weight;
	free(list);
	return sum;
}

static void equal_samples_keep_their_number_and_the_sum_of_their_weights(void **state)
{
	struct slices *s = slices_new(60, START);
	struct profile_sample *list;
	size_t nr;

	(void)state;
	for (uint64_t i = 0; i < 7; i++)
		add(s, START + i, 3, 10 + i);
	list = slices_samples(s, &nr);
	assert_int_equal(nr, 7);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(list[i].stack, 3);
	free(list);
	assert_int_equal(weight_of(s, &nr), 7 * 10 + 21);
	slices_free(s);
}

static void what_is_older_than_the_window_is_forgotten(void **state)
{
	struct slices *s = slices_new(10, START);
	struct slices_span span;
	size_t nr;

	(void)state;
	for (uint64_t second = 0; second < 30; second++) {
		slices_advance(s, START + second * S, &no_stats);
		add(s, START + second * S, (uint32_t)second, 1);
	}
	assert_int_equal(weight_of(s, &nr), 10);
	slices_span(s, &span);
	assert_int_equal(span.start_ns, START + 20 * S);
	assert_int_equal(span.end_ns, START + 29 * S);
	slices_advance(s, START + 500 * S, &no_stats);
	assert_int_equal(weight_of(s, &nr), 0);
	slices_free(s);
}

static void without_a_window_nothing_is_forgotten(void **state)
{
	struct slices *s = slices_new(0, START);
	struct slices_span span;
	size_t nr;

	(void)state;
	for (uint64_t second = 0; second < 1000; second++) {
		slices_advance(s, START + second * S, &no_stats);
		add(s, START + second * S, (uint32_t)second % 3, 5);
	}
	slices_advance(s, START + 100000 * S, &no_stats);
	assert_int_equal(weight_of(s, &nr), 5000);
	assert_int_equal(nr, 1000);
	slices_span(s, &span);
	assert_int_equal(span.start_ns, START);
	slices_free(s);
}

static void late_and_early_samples_are_counted(void **state)
{
	struct slices *s = slices_new(5, START);
	size_t nr;

	(void)state;
	slices_advance(s, START + 3 * S, &no_stats);
	add(s, START + 1 * S, 1, 1); /* of a slice that is over */
	add(s, START - 5, 1, 1);     /* before the start */
	add(s, START + 9 * S, 1, 1); /* later than the clock has come */
	add(s, 0, 1, 1);	     /* of an unknown time */
	assert_int_equal(weight_of(s, &nr), 4);
	slices_advance(s, START + 6 * S, &no_stats); /* second 0 and 1 leave */
	assert_int_equal(weight_of(s, &nr), 2);
	slices_free(s);
}

static void counters_are_those_of_the_window(void **state)
{
	struct slices *s = slices_new(10, START);
	struct profile_stats stats = { 0 };
	struct slices_span span;

	(void)state;
	for (uint64_t second = 0; second <= 20; second++) {
		slices_advance(s, START + second * S, &stats);
		stats.nr_lost += 2;
		stats.nr_incomplete[MARKER_NO_RULE] += 1;
		slices_advance(s, START + second * S + S / 2, &stats);
	}
	slices_span(s, &span);
	assert_int_equal(span.stats.nr_lost, 20);
	assert_int_equal(span.stats.nr_incomplete[MARKER_NO_RULE], 10);
	slices_free(s);
}

static void a_reset_forgets_samples_and_counters(void **state)
{
	struct slices *s = slices_new(0, START);
	struct profile_stats stats = { .nr_lost = 4 };
	uint64_t cpu[SLICES_MINUTE];
	struct slices_span span;
	size_t nr;

	(void)state;
	add(s, START, 1, 9);
	slices_advance(s, START + 3 * S, &stats);
	slices_reset(s, START + 3 * S + 5);
	stats.nr_lost = 6;
	slices_advance(s, START + 4 * S, &stats);
	add(s, START + 4 * S, 1, 1);
	assert_int_equal(weight_of(s, &nr), 1);
	slices_span(s, &span);
	assert_int_equal(span.stats.nr_lost, 2);
	assert_int_equal(span.start_ns, START + 3 * S + 5);
	slices_cpu_history(s, cpu);
	assert_int_equal(cpu[SLICES_MINUTE - 5], 9); /* it stays in the curve */
	slices_free(s);
}

static void the_history_of_cpu_time_has_a_value_for_each_second(void **state)
{
	struct slices *s = slices_new(10, START);
	uint64_t cpu[SLICES_MINUTE];

	(void)state;
	for (uint64_t second = 0; second < 100; second++) {
		slices_advance(s, START + second * S, &no_stats);
		add(s, START + second * S, 1, second);
	}
	slices_cpu_history(s, cpu);
	for (uint64_t i = 0; i < SLICES_MINUTE; i++)
		assert_int_equal(cpu[i], 40 + i);
	slices_free(s);
}

static void memory_is_limited_and_no_weight_is_lost(void **state)
{
	struct slices *s = slices_new(60, START);
	const uint64_t over = 1000;
	struct slices_span span;
	struct profile_sample *list;
	uint64_t sum = 0, left_out = 0;
	size_t nr;

	(void)state;
	for (uint64_t i = 0; i < SLICES_MAX_ENTRIES + over; i++)
		add(s, START, 100 + (uint32_t)i, 2);
	slices_span(s, &span);
	assert_int_equal(span.nr_over_limit, over);
	list = slices_samples(s, &nr);
	for (size_t i = 0; i < nr; i++) {
		sum += list[i].weight;
		left_out += list[i].stack == LEFT_OUT ? list[i].weight : 0;
	}
	assert_int_equal(sum, 2 * (SLICES_MAX_ENTRIES + over));
	assert_int_equal(left_out, 2 * over);
	free(list);
	slices_free(s);
}

static void too_many_samples_are_fewer_of_more_weight(void **state)
{
	struct slices *s = slices_new(0, START);
	struct slices_span span;
	size_t nr;

	(void)state;
	for (uint64_t i = 0; i < 3 * (uint64_t)SLICES_MAX_SAMPLES; i++)
		add(s, START, 1 + (i % 4 == 0), 10);
	add(s, START, 9, 1); /* also one that is rare stays */
	slices_span(s, &span);
	assert_int_equal(span.shift, 2);
	assert_int_equal(weight_of(s, &nr), 30 * (uint64_t)SLICES_MAX_SAMPLES + 1);
	assert_true(nr <= SLICES_MAX_SAMPLES);
	slices_free(s);
}

static void a_long_sleep_of_the_machine_is_passed_over(void **state)
{
	struct slices *s = slices_new(60, START);
	uint64_t cpu[SLICES_MINUTE];
	size_t nr;

	(void)state;
	add(s, START, 1, 5);
	slices_advance(s, START + 40000000ull * S, &no_stats); /* more than a year */
	assert_int_equal(weight_of(s, &nr), 0);
	add(s, START + 40000000ull * S, 1, 7);
	assert_int_equal(weight_of(s, &nr), 7);
	slices_cpu_history(s, cpu);
	assert_int_equal(cpu[SLICES_MINUTE - 1], 7);
	assert_int_equal(cpu[SLICES_MINUTE - 2], 0);
	slices_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_samples_keep_their_number_and_the_sum_of_their_weights),
		cmocka_unit_test(what_is_older_than_the_window_is_forgotten),
		cmocka_unit_test(without_a_window_nothing_is_forgotten),
		cmocka_unit_test(late_and_early_samples_are_counted),
		cmocka_unit_test(counters_are_those_of_the_window),
		cmocka_unit_test(a_reset_forgets_samples_and_counters),
		cmocka_unit_test(the_history_of_cpu_time_has_a_value_for_each_second),
		cmocka_unit_test(memory_is_limited_and_no_weight_is_lost),
		cmocka_unit_test(too_many_samples_are_fewer_of_more_weight),
		cmocka_unit_test(a_long_sleep_of_the_machine_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
