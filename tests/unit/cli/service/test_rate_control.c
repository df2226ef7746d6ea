// BUILD: cli/service/rate_control.c cli/service/rate_governor.c cli/service/own_cost.c
/* cli/service/rate_control.c: wishes, the limit, and what is told of both. */
#include "tests/unit/unit.h"

#include <errno.h>

#include "cli/service/rate_control.h"
#include "core/base/log.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"

#define S 1000000000ull

static uint32_t source_hz;
static uint64_t kernel_ns;
static struct fact_rate told[64];
static size_t nr_told;

static int set_rate(struct source *source, uint32_t freq_hz)
{
	(void)source;
	source_hz = freq_hz;
	return 0;
}

/* What counts here is made up: far more than this program takes itself. */
static int kernel_cost(const struct source *source, uint64_t *ret_ns)
{
	(void)source;
	*ret_ns = kernel_ns;
	return 0;
}

static void take_fact(struct sink *sink, enum fact_kind kind, const void *row)
{
	(void)sink;
	assert_int_equal(kind, FACT_RATE);
	assert_true(nr_told < 64);
	told[nr_told++] = *(const struct fact_rate *)row;
}

static const struct source_ops ops = {
	.name = "fake",
	.set_rate = set_rate,
	.kernel_cost = kernel_cost,
};
static struct sink sink = { .fact = take_fact };

static struct rate_control begin(uint32_t limit_ppm)
{
	struct rate_control r = {
		.parts.ops = &ops,
		.hz = 99,
		.wanted_hz = 99,
		.limit_ppm = limit_ppm,
	};

	log_set_level(LOG_QUIET);
	nr_told = 0;
	source_hz = 99;
	rate_control_begin(&r, S);
	return r;
}

static void a_wish_is_told_once(void **state)
{
	struct rate_control r = begin(0);

	(void)state;
	assert_int_equal(rate_control_want(&r, 999, RATE_TRIGGERED, &sink), 0);
	assert_int_equal(rate_control_want(&r, 999, RATE_TRIGGERED, &sink), 0);
	assert_int_equal(source_hz, 999);
	assert_int_equal(rate_control_want(&r, 99, RATE_CALM, &sink), 0);
	assert_int_equal(source_hz, 99);
	assert_int_equal(nr_told, 2);
	assert_int_equal(told[0].freq_hz, 999);
	assert_int_equal(told[0].reason, RATE_TRIGGERED);
	assert_int_equal(told[1].reason, RATE_CALM);
}

static void a_wish_does_not_undo_the_limit(void **state)
{
	struct rate_control r = begin(500000);
	uint64_t now = S;

	(void)state;
	assert_int_equal(rate_control_want(&r, 999, RATE_TRIGGERED, &sink), 0);
	for (int i = 0; i < 30; i++) { /* ten CPUs, whatever the rate is */
		now += 2 * S;
		kernel_ns += 20 * S;
		rate_control_round(&r, &sink, now);
	}
	assert_int_equal(source_hz, 1);
	assert_int_equal(told[nr_told - 1].reason, RATE_OVER_LIMIT);
	assert_int_equal(told[nr_told - 1].limit_ppm, 500000);
	assert_true(told[nr_told - 1].cost_ppm > 5000000);
	assert_int_equal(rate_control_want(&r, 999, RATE_TRIGGERED, &sink), 0);
	assert_int_equal(rate_control_want(&r, 99, RATE_CALM, &sink), 0);
	assert_int_equal(rate_control_want(&r, 999, RATE_TRIGGERED, &sink), 0);
	assert_int_equal(source_hz, 1);
	/* When there is room again, the last wish is fulfilled. */
	for (int i = 0; i < 200; i++)
		rate_control_round(&r, &sink, now += 2 * S);
	assert_int_equal(source_hz, 999);
	assert_int_equal(told[nr_told - 1].reason, RATE_IN_LIMIT);
}

static void a_source_that_cannot_is_left_alone(void **state)
{
	static const struct source_ops cannot = { .name = "fixed" };
	struct rate_control r = { .parts.ops = &cannot, .hz = 99, .wanted_hz = 99, .limit_ppm = 1 };

	(void)state;
	nr_told = 0;
	log_set_level(LOG_QUIET);
	rate_control_begin(&r, S);
	rate_control_round(&r, &sink, 100 * S);
	assert_false(rate_control_can(&r));
	assert_int_equal(rate_control_want(&r, 999, RATE_TRIGGERED, &sink), -ENOTSUP);
	assert_int_equal(nr_told, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wish_is_told_once),
		cmocka_unit_test(a_wish_does_not_undo_the_limit),
		cmocka_unit_test(a_source_that_cannot_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
