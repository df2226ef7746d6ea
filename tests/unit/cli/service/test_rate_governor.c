// BUILD: cli/service/rate_governor.c
/* cli/service/rate_governor.c: a recorder of known cost is kept within its limit. */
#include "tests/unit/unit.h"

#include "cli/service/rate_governor.h"

#define S 1000000000ull
#define STEP (2 * S)

struct made_up {
	struct rate_governor g;
	uint64_t now_ns, cost_ns;
	uint64_t sample_ns, base_ppm; /* what a sample costs, and what is spent without any */
	uint32_t hz, wanted_hz, ppm;
	unsigned int nr_changes;
};

static struct made_up begin(uint32_t limit_ppm, uint32_t hz)
{
	struct made_up m = { .now_ns = 1000 * S, .cost_ns = 5 * S, .hz = hz, .wanted_hz = hz };

	rate_governor_begin(&m.g, limit_ppm, m.now_ns, m.cost_ns);
	return m;
}

static void run(struct made_up *m, uint64_t seconds)
{
	for (uint64_t end = m->now_ns + seconds * S; m->now_ns < end;) {
		uint32_t hz;

		m->now_ns += STEP;
		m->cost_ns += 2 * (m->hz * m->sample_ns + m->base_ppm * 1000);
		hz = rate_governor_step(&m->g, m->now_ns, m->cost_ns, m->hz, m->wanted_hz, &m->ppm);
		m->nr_changes += hz != m->hz;
		m->hz = hz;
		assert_in_range(hz, 1, m->wanted_hz);
	}
}

static void below_the_limit_nothing_changes(void **state)
{
	struct made_up m = begin(10000, 999);

	(void)state;
	m.sample_ns = 9000; /* 0.9 % */
	run(&m, 3600);
	assert_int_equal(m.nr_changes, 0);
	assert_in_range(m.ppm, 8900, 9100);
}

static void a_cost_over_the_limit_lowers_the_rate_until_it_is_kept(void **state)
{
	struct made_up m = begin(10000, 9999);
	uint64_t began = m.now_ns, cost = m.cost_ns;

	(void)state;
	m.sample_ns = 10000; /* 10 % */
	run(&m, 30);
	assert_in_range(m.hz, 1, 999);
	run(&m, 3570);
	assert_in_range((m.cost_ns - cost) * 1000000 / (m.now_ns - began), 5000, 10100);
	assert_in_range(m.nr_changes, 2, 60); /* it does not swing */
}

static void the_rate_comes_back_when_the_cost_falls(void **state)
{
	struct made_up m = begin(10000, 999);

	(void)state;
	m.sample_ns = 100000;
	run(&m, 300);
	assert_in_range(m.hz, 20, 110);
	m.sample_ns = 1000;
	run(&m, 300);
	assert_int_equal(m.hz, 999);
}

static void a_burst_does_not_cost_the_rate(void **state)
{
	struct made_up m = begin(10000, 99);

	(void)state;
	m.sample_ns = 5000;
	run(&m, 20);
	m.cost_ns += S / 20; /* tables of a program that has just started */
	run(&m, 60);
	assert_int_equal(m.nr_changes, 0);
}

static void what_does_not_come_from_sampling_is_said(void **state)
{
	struct made_up m = begin(10000, 99);

	(void)state;
	m.base_ppm = 50000;
	run(&m, 4);
	assert_false(rate_governor_is_helpless(&m.g, m.hz));
	run(&m, 100);
	assert_int_equal(m.hz, 1);
	assert_true(rate_governor_is_helpless(&m.g, m.hz));
	m.base_ppm = 0;
	run(&m, 600);
	assert_int_equal(m.hz, 99);
}

static void another_wish_is_a_new_bound(void **state)
{
	struct made_up m = begin(10000, 999);

	(void)state;
	m.sample_ns = 1000;
	run(&m, 60);
	m.wanted_hz = m.hz = 99;
	run(&m, 60);
	assert_int_equal(m.hz, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_limit_nothing_changes),
		cmocka_unit_test(a_cost_over_the_limit_lowers_the_rate_until_it_is_kept),
		cmocka_unit_test(the_rate_comes_back_when_the_cost_falls),
		cmocka_unit_test(a_burst_does_not_cost_the_rate),
		cmocka_unit_test(what_does_not_come_from_sampling_is_said),
		cmocka_unit_test(another_wish_is_a_new_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
