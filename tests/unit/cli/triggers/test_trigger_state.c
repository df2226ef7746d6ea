// BUILD: cli/triggers/trigger_state.c
/* cli/triggers/trigger_state.c: when a trigger fires, and when not again. */
#include "tests/unit/unit.h"

#include "cli/triggers/trigger_state.h"

#define S 1000000000ull
#define LIMIT 1000

static void a_limit_must_be_exceeded_for_its_time(void **state)
{
	struct trigger_state s = { 0 };

	(void)state;
	assert_false(trigger_measured(&s, LIMIT + 1, LIMIT, 3 * S, 10 * S));
	assert_false(trigger_measured(&s, LIMIT + 1, LIMIT, 3 * S, 12 * S));
	assert_false(trigger_measured(&s, LIMIT, LIMIT, 3 * S, 13 * S)); /* at it is not over it */
	assert_false(trigger_measured(&s, LIMIT + 1, LIMIT, 3 * S, 14 * S));
	assert_false(trigger_measured(&s, LIMIT + 1, LIMIT, 3 * S, 16 * S));
	assert_true(trigger_measured(&s, LIMIT + 1, LIMIT, 3 * S, 17 * S));
}

static void a_value_that_stays_high_fires_once(void **state)
{
	struct trigger_state s = { 0 };
	int nr = 0;

	(void)state;
	for (uint64_t t = 1; t < 1000; t++)
		nr += trigger_measured(&s, 5 * LIMIT, LIMIT, 0, t * S);
	assert_int_equal(nr, 1);
}

static void a_value_around_the_limit_fires_once(void **state)
{
	struct trigger_state s = { 0 };
	int nr = 0;

	(void)state;
	for (uint64_t t = 1; t < 1000; t++)
		nr += trigger_measured(&s, t % 2 ? LIMIT + 50 : LIMIT - 50, LIMIT, 0, t * S);
	assert_int_equal(nr, 1);
	/* and short dips below do not make it calm */
	for (uint64_t t = 1000; t < 2000; t++)
		nr += trigger_measured(&s, t % 10 ? 0 : LIMIT + 1, LIMIT, 0, t * S);
	assert_int_equal(nr, 1);
}

static void it_fires_again_after_a_calm_time(void **state)
{
	struct trigger_state s = { 0 };

	(void)state;
	assert_true(trigger_measured(&s, LIMIT + 1, LIMIT, 0, S));
	for (uint64_t t = 2; t < 40; t++)
		assert_false(trigger_measured(&s, LIMIT / 2, LIMIT, 0, t * S));
	assert_true(trigger_measured(&s, LIMIT + 1, LIMIT, 0, 40 * S));
}

static void events_of_the_kernel_fire_once_until_it_is_calm(void **state)
{
	struct trigger_state s = { 0 };

	(void)state;
	assert_false(trigger_happened(&s, false, S));
	assert_true(trigger_happened(&s, true, 2 * S));
	assert_false(trigger_happened(&s, true, 3 * S));
	assert_false(trigger_happened(&s, false, 4 * S));
	assert_false(trigger_happened(&s, true, 33 * S)); /* 29 s were not enough */
	assert_false(trigger_happened(&s, false, 34 * S));
	assert_false(trigger_happened(&s, false, 64 * S));
	assert_true(trigger_happened(&s, true, 65 * S));
}

static void growth_is_that_of_the_span(void **state)
{
	struct growth g = { 0 };
	uint64_t ppm = 0;

	(void)state;
	/* Idle for 100 s, then a whole CPU. */
	for (uint64_t t = 0; t < 100; t++)
		if (growth_add(&g, t * S, 0, 10 * S, &ppm))
			assert_int_equal(ppm, 0);
	for (uint64_t t = 100; t < 130; t++) {
		assert_true(growth_add(&g, t * S, (t - 99) * S, 10 * S, &ppm));
		assert_true(ppm <= 1000000);
		assert_int_equal(ppm, t < 109 ? (t - 99) * 100000 : 1000000);
	}
}

static void growth_is_not_known_before_the_span_is_over(void **state)
{
	struct growth g = { 0 };
	uint64_t ppm;

	(void)state;
	for (uint64_t t = 0; t < 100; t++) /* ten looks a second */
		assert_false(growth_add(&g, t * S / 10, t * S, 10 * S, &ppm));
	assert_true(growth_add(&g, 10 * S, 100 * S, 10 * S, &ppm));
	assert_int_equal(ppm, 10000000);
	/* A counter that goes back, as that of a machine's idle time may, has not grown. */
	assert_true(growth_add(&g, 11 * S, 0, 10 * S, &ppm));
	assert_int_equal(ppm, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_must_be_exceeded_for_its_time),
		cmocka_unit_test(a_value_that_stays_high_fires_once),
		cmocka_unit_test(a_value_around_the_limit_fires_once),
		cmocka_unit_test(it_fires_again_after_a_calm_time),
		cmocka_unit_test(events_of_the_kernel_fire_once_until_it_is_calm),
		cmocka_unit_test(growth_is_that_of_the_span),
		cmocka_unit_test(growth_is_not_known_before_the_span_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
