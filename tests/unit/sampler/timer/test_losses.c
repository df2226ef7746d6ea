/* How many samples a target of the timer source can have lost, whatever it claims. */
#include "sampler/timer/targets/losses.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "sampler/timer/targets/timer_process.h"
#include "tests/unit/unit.h"

#define SECOND UINT64_C(1000000000)

static const struct timer_region_config cpu = { .period_ns = SECOND / 100 };

static void cpu_timers_expire_on_a_cpu_only(void **state)
{
	uint64_t few = timer_losses_possible(&cpu, SECOND, 1, 2);

	(void)state;
	assert_in_range(few, 200, 2000);
	assert_int_equal(timer_losses_possible(&cpu, SECOND, 50000, 2), few);
}

static void timers_on_the_clock_expire_in_every_thread(void **state)
{
	const struct timer_region_config wall = { .period_ns = SECOND / 100,
						  .clock = AGENT_CLOCK_WALL };

	(void)state;
	assert_in_range(timer_losses_possible(&wall, SECOND, 500, 2), 50000, 500000);
}

static void first_samples_come_as_often_as_the_kernel_ticks(void **state)
{
	const struct timer_region_config ticking = { .period_ns = SECOND / 10,
						     .tick_ns = SECOND / 250 };

	(void)state;
	assert_in_range(timer_losses_possible(&ticking, SECOND, 1, 1), 250, 2500);
}

static void impossible_numbers_do_not_wrap(void **state)
{
	const struct timer_region_config fast = { .period_ns = 1 };

	(void)state;
	assert_true(timer_losses_possible(&fast, UINT64_MAX - 1, 1, 64) == UINT64_MAX);
}

static void a_claim_counts_up_to_the_bound_and_is_said_once(void **state)
{
	struct timer_process p = { .maps.known_ns = monotonic_ns() };
	bool beyond;

	(void)state;
	assert_int_equal(timer_region_new(&cpu, &p.region), 0);
	p.region.shared->nr_busy = 2;
	p.region.nr_broken = 1;
	assert_int_equal(timer_losses_poll(&p, &cpu, &beyond), 3);
	assert_false(beyond);
	p.region.shared->rings[0].nr_dropped = UINT64_MAX;
	assert_in_range(timer_losses_poll(&p, &cpu, &beyond), 1, 100000000);
	assert_true(beyond);
	timer_losses_poll(&p, &cpu, &beyond);
	assert_false(beyond);
	p.region.shared->rings[0].nr_dropped = 0;
	assert_int_equal(timer_losses_poll(&p, &cpu, &beyond), 0);
	timer_region_free(&p.region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_timers_expire_on_a_cpu_only),
		cmocka_unit_test(timers_on_the_clock_expire_in_every_thread),
		cmocka_unit_test(first_samples_come_as_often_as_the_kernel_ticks),
		cmocka_unit_test(impossible_numbers_do_not_wrap),
		cmocka_unit_test(a_claim_counts_up_to_the_bound_and_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
