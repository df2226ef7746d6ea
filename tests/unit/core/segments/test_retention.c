/*
 * core/segments/segment_name.c and retention.c: names of segments, and which of them are deleted.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/segments/retention.h"
#include "core/segments/segment_name.h"

#define S 1000000000ll
#define HOUR (3600 * S)

static void name_says_when_a_segment_began(void **state)
{
	char name[SEGMENT_NAME_SIZE];
	uint64_t ns;

	(void)state;
	segment_name(1700000000123456789u, name);
	assert_string_equal(name, "sprof-20231114T221320.123Z.data");
	assert_true(segment_name_parse(name, &ns));
	assert_true(ns == 1700000000123000000u);
	segment_name(0, name);
	assert_string_equal(name, "sprof-19700101T000000.000Z.data");
	assert_true(segment_name_parse(name, &ns));
	assert_true(ns == 0);
}

static void names_sort_by_time(void **state)
{
	char before[SEGMENT_NAME_SIZE] = "", name[SEGMENT_NAME_SIZE];

	(void)state;
	for (uint64_t t = 0; t < 200; t++) {
		segment_name(t * 33333333333333333u, name);
		assert_true(strcmp(before, name) < 0);
		memcpy(before, name, sizeof(name));
	}
}

/* Whatever else lies in the folder is nothing of ours. */
static void other_names_are_not_segments(void **state)
{
	static const char *const names[] = {
		"",
		"lock",
		"names",
		"sprof.data",
		"sprof-20231114T221320.123Z.data.old",
		"sprof-20231114T221320.123Z.dat",
		"xsprof-20231114T221320.123Z.data",
		"sprof-20231314T221320.123Z.data",
		"sprof-20231132T221320.123Z.data",
		"sprof- 2231114T221320.123Z.data",
		"sprof-20231114T221320.1Z.data",
		"sprof-20231114T221320.+12Z.data",
		"sprof-18991114T221320.123Z.data",
		"sprof-20231114T221320.123Z.data/../../x",
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(segment_name_parse(names[i], &ns));
}

static void segments_leave_by_age(void **state)
{
	struct retention r = { .keep_ns = 24 * (uint64_t)HOUR };
	int64_t now = 100 * S;

	(void)state;
	/* A segment each minute for 30 hours, by a clock that nothing sets. */
	for (int i = 0; i < 30 * 60; i++) {
		now += 60 * S;
		retention_add(&r, "x", 1000, now);
		for (size_t nr = retention_excess(&r, now, 0); nr; nr--)
			retention_drop(&r, 0);
		assert_true(r.nr <= 24 * 60 + 1);
	}
	assert_int_equal(r.nr, 24 * 60 + 1);
	retention_fini(&r);
}

static void the_oldest_leave_where_room_ends(void **state)
{
	struct retention r = { .max_bytes = 1000 };

	(void)state;
	for (int i = 0; i < 10; i++)
		retention_add(&r, "x", 100, i * S);
	assert_int_equal(retention_excess(&r, 10 * S, 0), 0);
	assert_int_equal(retention_excess(&r, 10 * S, 1), 1);
	assert_int_equal(retention_excess(&r, 10 * S, 350), 4);
	assert_int_equal(retention_excess(&r, 10 * S, 100000), 10);
	retention_fini(&r);
}

static void any_of_them_can_be_forgotten(void **state)
{
	struct retention r = { .max_bytes = 1000 };

	(void)state;
	retention_add(&r, "a", 100, S);
	retention_add(&r, "b", 200, 2 * S);
	retention_add(&r, "c", 300, 3 * S);
	retention_drop(&r, 1);
	assert_int_equal(r.nr, 2);
	assert_string_equal(r.segments[0].name, "a");
	assert_string_equal(r.segments[1].name, "c");
	assert_int_equal(retention_excess(&r, 4 * S, 600), 0);
	assert_int_equal(retention_excess(&r, 4 * S, 601), 1);
	retention_drop(&r, 1);
	retention_drop(&r, 0);
	assert_int_equal(r.nr, 0);
	retention_fini(&r);
}

/* An hour forward or back while recording changes no age: only CLOCK_BOOTTIME counts. */
static void a_step_of_the_time_of_day_deletes_nothing(void **state)
{
	struct retention r = { .keep_ns = 2 * (uint64_t)HOUR };
	uint64_t today = 1700000000ull * S;

	(void)state;
	/* Left by an earlier recorder: one an hour ago, one that is too old, one of the future. */
	retention_add_older(&r, "hour", 1, 50 * HOUR, today - HOUR, today);
	retention_add_older(&r, "old", 1, 50 * HOUR, today - 3 * HOUR, today);
	retention_add_older(&r, "future", 1, 50 * HOUR, today + 100 * HOUR, today);
	assert_string_equal(r.segments[0].name, "old");
	assert_string_equal(r.segments[1].name, "hour");
	assert_string_equal(r.segments[2].name, "future");
	assert_int_equal(retention_excess(&r, 50 * HOUR, 0), 1);
	retention_drop(&r, 0);
	assert_int_equal(retention_excess(&r, 51 * HOUR, 0), 0);
	assert_int_equal(retention_excess(&r, 51 * HOUR + S, 0), 1);
	assert_int_equal(retention_excess(&r, 52 * HOUR + S, 0), 2);
	retention_fini(&r);
}

/* Soon after a boot, the ages of what is there reach before it. */
static void ages_reach_before_the_boot(void **state)
{
	struct retention r = { .keep_ns = 24 * (uint64_t)HOUR };

	(void)state;
	retention_add_older(&r, "x", 1, 5 * S, 1000 * HOUR, 1010 * HOUR);
	assert_true(r.segments[0].ended_ns < 0);
	assert_int_equal(retention_excess(&r, 5 * S, 0), 0);
	assert_int_equal(retention_excess(&r, 15 * HOUR, 0), 1);
	retention_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_says_when_a_segment_began),
		cmocka_unit_test(names_sort_by_time),
		cmocka_unit_test(other_names_are_not_segments),
		cmocka_unit_test(segments_leave_by_age),
		cmocka_unit_test(the_oldest_leave_where_room_ends),
		cmocka_unit_test(any_of_them_can_be_forgotten),
		cmocka_unit_test(a_step_of_the_time_of_day_deletes_nothing),
		cmocka_unit_test(ages_reach_before_the_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
