/* A run of a range gets the work of the calls made inside it, however late that work is done. */
#include "tests/unit/gpu_setup.h"

static const struct fact_range_run *run_at(const struct profile *p, uint64_t range,
					   uint64_t start_ns)
{
	const struct fact_range_run *r;
	size_t nr;

	r = facts_rows(p, FACT_RANGE_RUN, &nr);
	for (size_t i = 0; i < nr; i++)
		if (r[i].range == range && r[i].start_ns == start_ns)
			return &r[i];
	return NULL;
}

static void work_counts_in_every_range_around_its_call(void **state)
{
	struct gpu_work w = { .start_ns = 5000, .end_ns = 5100, .correlation = 1 };
	const struct fact_range_run *r;
	uint32_t step, forward;
	struct setup s = { 0 };
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	step = test_range(&s.region, 0, "step", "");
	forward = test_range(&s.region, step, "forward", "");
	start(&s);
	/* step 1000-2000 with forward 1100-1500 in it, and calls at 1200 and 1800 */
	emit_call(&s.region, GPU_API_LAUNCH, 1, 1200, 1210, 0);
	emit_range(&s.region, forward, 1100, 1500);
	emit_call(&s.region, GPU_API_LAUNCH, 2, 1800, 1810, 0);
	emit_range(&s.region, step, 1000, 2000);
	/* the next step has the same ranges, and a call in each */
	emit_call(&s.region, GPU_API_LAUNCH, 3, 2200, 2210, 0);
	emit_range(&s.region, forward, 2100, 2300);
	emit_call(&s.region, GPU_API_LAUNCH, 4, 2400, 2410, 0);
	gpu_collect_drain(s.c, 3000);
	/* the last step ends after its first work was read */
	w.range = forward;
	emit_kernel(&s.region, &w, 0);
	w = (struct gpu_work){ .start_ns = 5100, .end_ns = 5250, .correlation = 2, .range = step };
	emit_kernel(&s.region, &w, 0);
	w = (struct gpu_work){
		.start_ns = 5300, .end_ns = 5301, .correlation = 3, .range = forward
	};
	emit_kernel(&s.region, &w, 0);
	w = (struct gpu_work){ .start_ns = 5310, .end_ns = 5317, .correlation = 4, .range = step };
	emit_kernel(&s.region, &w, 0);
	gpu_collect_drain(s.c, 6000);
	emit_range(&s.region, step, 2050, 2500);
	gpu_collect_finish(s.c, 7000);
	facts_rows(s.p, FACT_RANGE_RUN, &nr);
	assert_int_equal(nr, 4);
	r = run_at(s.p, forward, 1100);
	assert_int_equal(r->duration_ns, 400);
	assert_int_equal(r->gpu_ns, 100);
	assert_int_equal(r->launches, 1);
	r = run_at(s.p, step, 1000);
	assert_int_equal(r->gpu_ns, 250);
	assert_int_equal(r->launches, 2);
	assert_int_equal(r->gpu_start_ns, 5000);
	assert_int_equal(r->gpu_duration_ns, 250);
	assert_int_equal(s.p->threads[r->thread].tid, 77);
	r = run_at(s.p, forward, 2100);
	assert_int_equal(r->gpu_ns, 1);
	r = run_at(s.p, step, 2050);
	assert_int_equal(r->gpu_ns, 8);
	assert_int_equal(r->gpu_duration_ns, 17);
	finish(&s);
}

static void memory_is_net_and_at_its_peak(void **state)
{
	const struct fact_range_run *r;
	struct setup s = { 0 };
	uint32_t step;

	(void)state;
	test_region_init(&s.region);
	step = test_range(&s.region, 0, "step", "");
	start(&s);
	emit_range(&s.region, step, 1000, 2000);
	emit_memory(&s.region, GPU_MEMORY_ALLOC, step, 1100, 500);
	emit_memory(&s.region, GPU_MEMORY_ALLOC, step, 1200, 300);
	emit_memory(&s.region, GPU_MEMORY_FREE, step, 1300, 700);
	emit_memory(&s.region, GPU_MEMORY_FREE, step, 1400, 200);
	gpu_collect_finish(s.c, 3000);
	r = run_at(s.p, step, 1000);
	assert_int_equal((int64_t)r->net_bytes, -100);
	assert_int_equal(r->peak_bytes, 800);
	finish(&s);
}

/* Loops of nested ranges with random launches; work is done in any order and read at any time. */
static void runs_add_up_to_all_work_that_was_launched_in_ranges(void **state)
{
	enum { STEPS = 400, LAUNCHES = 2000 };
	uint64_t expected[STEPS] = { 0 }, now = 1000;
	struct gpu_work queued[LAUNCHES];
	uint32_t nr_queued = 0, correlation = 1, step, part;
	const struct fact_range_run *runs;
	struct setup s = { 0 };
	size_t nr, at = 0;

	(void)state;
	srandom(5);
	test_region_init(&s.region);
	step = test_range(&s.region, 0, "step", "");
	part = test_range(&s.region, step, "part", "");
	start(&s);
	for (int i = 0; i < STEPS; i++) {
		uint64_t from = now, part_from = now + 10;

		now += 20;
		for (int k = (int)(random() % 5); k--; now += 10) {
			uint64_t ns = (uint64_t)random() % 1000;

			emit_call(&s.region, GPU_API_LAUNCH, correlation, now, now + 2, 0);
			assert_true(nr_queued < LAUNCHES);
			queued[nr_queued++] = (struct gpu_work){ .start_ns = now + 5000,
								 .end_ns = now + 5000 + ns,
								 .correlation = correlation++,
								 .range = part };
			expected[i] += ns;
		}
		emit_range(&s.region, part, part_from, now);
		emit_range(&s.region, step, from, now + 10);
		now += 1 + (uint64_t)random() % 50;
		for (int k = (int)(random() % 10); k-- && nr_queued;) {
			uint32_t which = (uint32_t)random() % nr_queued;

			emit_kernel(&s.region, &queued[which], 0);
			queued[which] = queued[--nr_queued];
		}
		if (random() % 7 == 0)
			gpu_collect_drain(s.c, now);
	}
	while (nr_queued)
		emit_kernel(&s.region, &queued[--nr_queued], 0);
	gpu_collect_finish(s.c, now + 1000000);
	runs = facts_rows(s.p, FACT_RANGE_RUN, &nr);
	assert_int_equal(nr, 2 * STEPS);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(runs[i].gpu_ns, expected[at]);
		at += runs[i].range == step;
	}
	assert_int_equal(at, STEPS);
	finish(&s);
}

static void started_range_is_counted_by_name_and_never_twice(void **state)
{
	struct gpu_rec_range record = {
		.head = { GPU_RECORD_RANGE, sizeof(record), 77 },
		.start_ns = 100,
		.end_ns = 400,
		.kind = GPU_RANGE_START_END,
	};
	const struct fact_range *range;
	struct setup s = { 0 };
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	record.name = test_string(&s.region, "load");
	start(&s);
	test_range_node(&s.region, test_range(&s.region, 0, "", ""))->name = 0;
	test_emit(&s.region, 0, &record);
	record.end_ns = 200;
	test_emit(&s.region, 1, &record);
	record.flags = GPU_RANGE_OPEN; /* it did not end */
	test_emit(&s.region, 1, &record);
	gpu_collect_finish(s.c, 3000);
	range = facts_rows(s.p, FACT_RANGE, &nr);
	assert_int_equal(nr, 2);
	for (size_t i = 0; i < nr; i++) {
		if (!range[i].started) {
			assert_string_equal(profile_str(s.p, (uint32_t)range[i].name),
					    "[range without a name]");
			continue;
		}
		assert_string_equal(profile_str(s.p, (uint32_t)range[i].name), "load");
		assert_int_equal(range[i].calls, 2);
		assert_int_equal(range[i].total_ns, 400);
		assert_int_equal(range[i].min_ns, 100);
		assert_int_equal(range[i].max_ns, 300);
	}
	facts_rows(s.p, FACT_RANGE_RUN, &nr);
	assert_int_equal(nr, 2);
	finish(&s);
}

/* Several processes of a recording share its room. */
static void processes_share_the_room_for_runs(void **state)
{
	const struct fact_gpu_counter *counters;
	uint64_t room = 3, left_out = 0;
	size_t nr;

	(void)state;
	for (int process = 0; process < 2; process++) {
		struct setup s = { .run_room = &room };
		uint32_t step;

		test_region_init(&s.region);
		step = test_range(&s.region, 0, "step", "");
		start(&s);
		emit_range(&s.region, step, 1000, 2000);
		emit_range(&s.region, step, 2000, 3000);
		gpu_collect_drain(s.c, 4000);
		gpu_collect_finish(s.c, 5000);
		facts_rows(s.p, FACT_RANGE_RUN, &nr);
		assert_int_equal(nr, process ? 1 : 2);
		counters = facts_rows(s.p, FACT_GPU_COUNTER, &nr);
		for (size_t i = 0; i < nr; i++)
			if (!strcmp(profile_str(s.p, (uint32_t)counters[i].name),
				    COUNTER_RUNS_LEFT_OUT))
				left_out += counters[i].value;
		finish(&s);
	}
	assert_int_equal(left_out, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_counts_in_every_range_around_its_call),
		cmocka_unit_test(memory_is_net_and_at_its_peak),
		cmocka_unit_test(runs_add_up_to_all_work_that_was_launched_in_ranges),
		cmocka_unit_test(started_range_is_counted_by_name_and_never_twice),
		cmocka_unit_test(processes_share_the_room_for_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
