// BUILD: cli/triggers/trigger_spec.c cli/options/duration.c cli/options/byte_size.c cli/options/whole_number.c
/* cli/triggers/trigger_spec.c: what --trigger may say. */
#include "tests/unit/unit.h"

#include <string.h>

#include "cli/triggers/trigger_spec.h"

#define S 1000000000ull

static void every_kind_is_understood(void **state)
{
	struct trigger_specs s = { 0 };

	(void)state;
	assert_null(trigger_specs_add(&s, "cpu=90%:30s,memory=2G,psi=memory:some:20%,oom"));
	assert_null(trigger_specs_add(&s, "cpu@12=350%,memory@/shop.slice=1.5G:5s"));
	assert_null(trigger_specs_add(&s, "psi@/shop.slice=io:full:0.5%:1s,psi=cpu:60%"));
	assert_int_equal(s.nr, 8);
	assert_int_equal(s.list[0].kind, TRIGGER_CPU);
	assert_int_equal(s.list[0].limit, 900000);
	assert_int_equal(s.list[0].for_ns, 30 * S);
	assert_string_equal(s.list[0].text, "cpu=90%:30s");
	assert_int_equal(s.list[1].kind, TRIGGER_MEMORY);
	assert_int_equal(s.list[1].limit, 2ull << 30);
	assert_int_equal(s.list[1].for_ns, 0);
	assert_int_equal(s.list[2].kind, TRIGGER_PRESSURE);
	assert_int_equal(s.list[2].pressure, PRESSURE_MEMORY);
	assert_false(s.list[2].full);
	assert_int_equal(s.list[2].limit, 200000);
	assert_int_equal(s.list[2].for_ns, 2 * S);
	assert_int_equal(s.list[3].kind, TRIGGER_OOM);
	assert_int_equal(s.list[4].pid, 12);
	assert_int_equal(s.list[4].limit, 3500000);
	assert_int_equal(s.list[4].for_ns, 10 * S);
	assert_string_equal(s.list[5].cgroup, "/shop.slice");
	assert_int_equal(s.list[5].limit, 3ull << 29);
	assert_int_equal(s.list[5].for_ns, 5 * S);
	assert_true(s.list[6].full);
	assert_int_equal(s.list[6].pressure, PRESSURE_IO);
	assert_int_equal(s.list[6].limit, 5000);
	assert_int_equal(s.list[6].for_ns, S);
	assert_int_equal(s.list[7].pressure, PRESSURE_CPU);
	trigger_specs_fini(&s);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"cpu",
		"cpu=",
		"cpu=90",
		"cpu=0%",
		"cpu=-5%",
		"cpu=nan%",
		"cpu=90%:",
		"cpu=90%:0s",
		"cpu=90%:2h",
		"cpu@=90%",
		"cpu@x=90%",
		"cpu@0=90%",
		"cpu@99999999999=90%",
		"memory=2X",
		"memory=0",
		"memory",
		"memory=90%",
		"psi",
		"psi=",
		"psi=disk:some:20%",
		"psi=memory",
		"psi=memory:some",
		"psi=memory:some:101%",
		"psi=memory:most:20%",
		"psi=memory:some:20%:11s",
		"psi=memory:some:20%:100ms",
		"psi@12=memory:20%",
		"oom=1",
		"oom@12",
		"load=3",
		"cpu=90%,",
		",oom",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct trigger_specs s = { 0 };

		if (!trigger_specs_add(&s, wrong[i]))
			fail_msg("'%s' is taken", wrong[i]);
		trigger_specs_fini(&s);
	}
}

static void there_is_a_limit_of_triggers(void **state)
{
	struct trigger_specs s = { 0 };

	(void)state;
	for (int i = 0; i < MAX_TRIGGERS; i++)
		assert_null(trigger_specs_add(&s, "oom"));
	assert_non_null(trigger_specs_add(&s, "oom"));
	assert_int_equal(s.nr, MAX_TRIGGERS);
	trigger_specs_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_understood),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(there_is_a_limit_of_triggers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
