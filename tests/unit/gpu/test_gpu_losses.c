/*
 * Records of activities are lost: by a full ring, by CUPTI, or for lack of a buffer. Which launches
 * they were of is not known.
 */
#include "tests/unit/gpu_setup.h"

static uint64_t nr_late(const struct profile *p)
{
	const struct fact_gpu_counter *counters;
	size_t nr;

	counters = facts_rows(p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(profile_str(p, (uint32_t)counters[i].name),
			    "activities too late for their place"))
			return counters[i].value;
	return 0;
}

/*
 * A launch at second 1 has no record. Returns whether time was placed beyond it: then what comes
 * for that time is late.
 */
static bool is_placed_after(void (*lose)(struct test_region *region))
{
	const uint64_t second = 1000000000;
	struct setup s = { 0 };
	bool is_late;

	test_region_init(&s.region);
	start(&s);
	s.region.header->active_ns = second;
	s.region.header->config.want = GPU_WANT_KERNELS;
	emit_call(&s.region, GPU_API_LAUNCH, 1, second, second + 10, 0);
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = 2 * second, .end_ns = 3 * second },
		    0);
	gpu_collect_drain(s.c, 3 * second);
	if (lose)
		lose(&s.region);
	gpu_collect_drain(s.c, 4 * second);
	gpu_collect_drain(s.c, 9 * second);
	emit_kernel(&s.region, &(struct gpu_work){ .start_ns = second, .end_ns = 2 * second }, 0);
	gpu_collect_finish(s.c, 9 * second);
	is_late = nr_late(s.p) > 0;
	finish(&s);
	return is_late;
}

static void lose_in_ring(struct test_region *region)
{
	struct gpu_lane *lanes = test_area(region, &region->header->lanes);

	lanes[TEST_LANES - 1].dropped++;
}

static void lose_call(struct test_region *region)
{
	struct gpu_lane *lanes = test_area(region, &region->header->lanes);

	lanes[0].dropped++;
}

static void lose_in_cupti(struct test_region *region)
{
	region->header->counters[GPU_COUNT_CUPTI_DROPPED] += 7;
}

static void lose_without_a_buffer(struct test_region *region)
{
	region->header->counters[GPU_COUNT_DISCARDED]++;
}

static void lose_unreadable(struct test_region *region)
{
	region->header->counters[GPU_COUNT_BAD_RECORD]++;
}

static void a_launch_is_not_awaited_after_records_of_activities_were_lost(void **state)
{
	(void)state;
	assert_false(is_placed_after(NULL));
	assert_false(is_placed_after(lose_call));
	assert_true(is_placed_after(lose_in_ring));
	assert_true(is_placed_after(lose_in_cupti));
	assert_true(is_placed_after(lose_without_a_buffer));
	assert_true(is_placed_after(lose_unreadable));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_not_awaited_after_records_of_activities_were_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
