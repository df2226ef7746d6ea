/*
 * What libsprof-gpu.so shares becomes samples and facts. The expected numbers are those that the
 * test itself put into the region, added up.
 */
#include "tests/unit/gpu_setup.h"

#include <math.h>

#include "core/profile/gpu_kinds.h"

static void kernel_hangs_under_its_launch_and_its_ranges(void **state)
{
	static const uint64_t frames[] = { 0x9001, 0x3001, 0x2001, 0x1001 };
	struct setup s = { 0 };
	struct gpu_fold kernel = { .kind = GPU_FOLD_KERNEL,
				   .registers = 40,
				   .block = { 256, 1, 1 } };
	const struct fact_gpu_work *work;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	kernel.stack = test_stack(&s.region, frames, 4, END_ROOT);
	kernel.name = test_string(&s.region, "_Z4gemmPf");
	kernel.range =
		test_range(&s.region, test_range(&s.region, 0, "step", ""), "forward", "net");
	test_fold_add(&s.region, &kernel, 700, 0);
	test_fold_add(&s.region, &kernel, 300, 0);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	assert_string_equal(name_stack(s.p, sample_in(s.p, COLUMN_GPU)),
			    "train+0x1000;train+0x2000;train+0x3000;step;forward;gemm(float*)");
	assert_int_equal(sum_of(s.p, COLUMN_GPU), 1000);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_LAUNCHES), 2);
	assert_null(sample_in(s.p, COLUMN_GPU_BYTES));
	work = facts_rows(s.p, FACT_GPU_WORK, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(profile_str(s.p, (uint32_t)work->name), "gemm(float*)");
	assert_int_equal(work->calls, 2);
	assert_int_equal(work->min_ns, 300);
	assert_int_equal(work->max_ns, 700);
	assert_int_equal(work->registers, 40);
	assert_int_equal(work->block[0], 256);
	finish(&s);
}

static void launch_without_a_stack_has_a_marker_that_says_why(void **state)
{
	static const uint64_t frames[] = { 0x2001, 0x1001 };
	struct setup s = { 0 };
	struct gpu_fold copy = { .kind = GPU_FOLD_MEMCPY, .subkind = 1 };
	size_t at = 0;

	(void)state;
	test_region_init(&s.region);
	test_fold_add(&s.region, &copy, 10, 4096);
	copy.stack = test_stack(&s.region, frames, 2, END_TOO_DEEP);
	test_fold_add(&s.region, &copy, 20, 8192);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	for (size_t i = 0; i < s.p->nr_samples; i++) {
		if (s.p->samples[i].column != COLUMN_GPU)
			continue;
		assert_string_equal(name_stack(s.p, &s.p->samples[i]),
				    at++ ? "[incomplete: too deep];train+0x1000;train+0x2000;"
					   "[copy host to device]"
					 : "[launch not seen];[copy host to device]");
	}
	assert_int_equal(at, 2);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_BYTES), 12288);
	finish(&s);
}

static void node_whose_launch_is_not_known_has_a_marker_above_its_own_stack(void **state)
{
	static const uint64_t frames[] = { 0x2001, 0x1001, GPU_FRAME_CAPTURE };
	struct gpu_fold kernel = { .kind = GPU_FOLD_KERNEL };
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	kernel.stack = test_stack(&s.region, frames, 3, END_ROOT);
	kernel.name = test_string(&s.region, "gemm");
	test_fold_add(&s.region, &kernel, 700, 0);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	assert_string_equal(name_stack(s.p, sample_in(s.p, COLUMN_GPU)),
			    "[launch not seen];[captured in a graph by];train+0x1000;"
			    "train+0x2000;gemm");
	finish(&s);
}

/* Random activities, drained at random moments in between. */
static void samples_add_up_to_all_activities_however_often_drained(void **state)
{
	enum { ROUNDS = 20000, STACKS = 7, NAMES = 5 };
	static const uint64_t frames[] = { 0x5001, 0x4001, 0x3001, 0x2001, 0x1001, 0x801, 0x401 };
	uint64_t total[NR_GPU_WORK_KINDS] = { 0 }, count[NR_GPU_WORK_KINDS] = { 0 }, bytes = 0;
	uint64_t gpu_ns = 0, launches = 0, facts_ns = 0, facts_calls = 0;
	uint32_t stacks[STACKS], names[NAMES];
	struct setup s = { 0 };
	const struct fact_gpu_work *work;
	uint64_t now = 1000;
	size_t nr;

	(void)state;
	srandom(1);
	test_region_init(&s.region);
	for (uint16_t i = 0; i < STACKS; i++)
		stacks[i] = test_stack(&s.region, frames + i, (uint16_t)(STACKS - i), END_ROOT);
	for (int i = 0; i < NAMES; i++)
		names[i] = test_string(&s.region, (char[]){ 'k', (char)('0' + i), '\0' });
	start(&s);
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t kind = (uint8_t)(1 + random() % (NR_GPU_WORK_KINDS - 1));
		const struct gpu_fold key = {
			.kind = kind,
			.subkind = kind == GPU_FOLD_MEMCPY ? (uint8_t)(random() % 4) : 0,
			.device = (uint16_t)(random() % 2),
			.stack = stacks[random() % STACKS],
			.name = kind == GPU_FOLD_KERNEL ? names[random() % NAMES] : 0,
		};
		uint64_t ns = kind == GPU_FOLD_ALLOC ? 0 : (uint64_t)random() % 100000;
		uint64_t size = kind == GPU_FOLD_MEMCPY ? (uint64_t)random() % 5000 : 0;

		test_fold_add(&s.region, &key, ns, size);
		total[kind] += ns;
		count[kind]++;
		bytes += size;
		now += (uint64_t)random() % 100000000;
		if (random() % 50 == 0)
			gpu_collect_drain(s.c, now);
	}
	gpu_collect_finish(s.c, now);
	for (int kind = GPU_FOLD_KERNEL; kind <= GPU_FOLD_GRAPH; kind++) {
		gpu_ns += total[kind];
		launches += count[kind];
	}
	assert_int_equal(sum_of(s.p, COLUMN_GPU), gpu_ns);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_LAUNCHES), launches);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_BYTES), bytes);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_ALLOCATIONS), count[GPU_FOLD_ALLOC]);
	work = facts_rows(s.p, FACT_GPU_WORK, &nr);
	for (size_t i = 0; i < nr; i++) {
		facts_ns += work[i].kind <= GPU_WORK_GRAPH ? work[i].total_ns : 0;
		facts_calls += work[i].calls;
	}
	assert_int_equal(facts_ns, gpu_ns);
	assert_int_equal(facts_calls, ROUNDS);
	assert_int_equal(s.nr_lookups, STACKS); /* every address is looked up once */
	finish(&s);
}

static void sums_are_not_written_each_second_of_a_long_recording(void **state)
{
	struct gpu_fold kernel = { .kind = GPU_FOLD_KERNEL };
	struct setup s = { 0 };
	uint64_t now = 1;

	(void)state;
	test_region_init(&s.region);
	start(&s);
	for (int i = 0; i < 86400; i++) {
		test_fold_add(&s.region, &kernel, 5, 0);
		gpu_collect_drain(s.c, now += 1000000000);
	}
	assert_true(s.p->nr_samples < 2000);
	gpu_collect_finish(s.c, now);
	assert_int_equal(sum_of(s.p, COLUMN_GPU), 5 * 86400);
	finish(&s);
}

static void calls_ranges_counters_and_failures_become_facts(void **state)
{
	struct setup s = { 0 };
	struct gpu_api *apis;
	const struct fact_gpu_api *api;
	const struct fact_range *range;
	const struct fact_gpu_counter *counter;
	const struct fact_gpu_note *note;
	uint32_t launch, id;
	bool seen = false;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	apis = test_area(&s.region, &s.region.header->apis);
	launch = test_string(&s.region, "cuLaunchKernel");
	apis[307] = (struct gpu_api){ 10, 5000, 900, launch, GPU_API_LAUNCH };
	apis[2 * GPU_MAX_CBIDS + 307] = (struct gpu_api){ 4, 1000, 950, launch, GPU_API_LAUNCH };
	apis[3 * GPU_MAX_CBIDS + 211] =
		(struct gpu_api){ 4, 2000, 600, test_string(&s.region, "cudaLaunchKernel"),
				  GPU_API_LAUNCH };
	id = test_range(&s.region, test_range(&s.region, 0, "epoch", "train"), "step", "train");
	test_range_node(&s.region, id)->count = 3;
	test_range_node(&s.region, id)->total_ns = 333;
	s.region.header->counters[GPU_COUNT_KERNELS] = 77;
	s.region.header->failures[0] = (struct gpu_failure){ .code = GPU_FAIL_FOREIGN,
							     .count = 1,
							     .text = "CUPTI is held by nsys" };
	start(&s);
	gpu_collect_finish(s.c, 1000);
	api = facts_rows(s.p, FACT_GPU_API, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(profile_str(s.p, (uint32_t)api[0].name), "cuLaunchKernel");
	assert_int_equal(api[0].calls, 14);
	assert_int_equal(api[0].total_ns, 6000);
	assert_int_equal(api[0].max_ns, 950);
	assert_int_equal(api[1].runtime, 1);
	range = facts_rows(s.p, FACT_RANGE, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(range[1].parent, range[0].id);
	assert_string_equal(profile_str(s.p, (uint32_t)range[1].name), "step");
	assert_string_equal(profile_str(s.p, (uint32_t)range[1].domain), "train");
	assert_int_equal(range[1].total_ns, 333);
	counter = facts_rows(s.p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		seen |= !strcmp(profile_str(s.p, (uint32_t)counter[i].name), "kernels") &&
			counter[i].value == 77;
	assert_true(seen);
	note = facts_rows(s.p, FACT_GPU_NOTE, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(profile_str(s.p, (uint32_t)note->text), "CUPTI is held by nsys");
	finish(&s);
}

static void put_estimate(struct test_region *t, int i, double count, double ns, double squares)
{
	struct gpu_estimate *e = (struct gpu_estimate *)test_area(t, &t->header->estimates) + i;

	*e = (struct gpu_estimate){
		.kind = GPU_FOLD_KERNEL,
		.name = test_string(t, "kernel"),
		.device = (uint16_t)i,
		.count = 10,
		.total_ns = 1000,
		.estimated_count = count,
		.estimated_ns = ns,
		.count_squares = squares,
		.ns_squares = squares * 100 * 100,
	};
}

/* Ten windows with 10 each, and one half more time than they stand for. */
static void estimates_have_their_error_and_nonsense_is_refused(void **state)
{
	static const double nonsense[] = { -1, 1e300, -INFINITY, INFINITY, NAN };
	const struct fact_gpu_estimate *rows;
	struct setup s = { 0 };
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	s.region.header->counters[GPU_COUNT_WINDOWS] = 10;
	s.region.header->counters[GPU_COUNT_COVERED_NS] = 1000;
	s.region.header->counters[GPU_COUNT_UNCOVERED_NS] = 500;
	put_estimate(&s.region, 1, 100, 10000, 1000);
	put_estimate(&s.region, 2, 100, 10000, 1360); /* 4 or 16: a variance of 40 */
	for (int i = 0; i < 5; i++)
		put_estimate(&s.region, 3 + i, nonsense[i], 10000, 1000);
	put_estimate(&s.region, 8, 100, NAN, 1000);
	put_estimate(&s.region, 9, 100, 10000, NAN);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	rows = facts_rows(s.p, FACT_GPU_ESTIMATE, &nr);
	assert_int_equal(nr, 3);
	assert_int_equal(rows[0].calls, 150);
	assert_int_equal(rows[0].total_ns, 15000);
	assert_int_equal(rows[0].calls_error, 0);
	assert_int_equal(rows[0].seen_calls, 10);
	/* the square root of 10 / 9 * 360 is 20, times 1.5 */
	assert_int_equal(rows[1].calls_error, 30);
	assert_int_equal(rows[1].total_error, 3000);
	assert_true(rows[2].calls_error == UINT64_MAX);
	finish(&s);
}

static void levels_are_bounded_whatever_the_target_writes(void **state)
{
	const struct fact_gpu_level *rows;
	struct setup s = { 0 };
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	s.region.header->nr_levels = UINT32_MAX;
	for (uint32_t i = 0; i < GPU_MAX_LEVELS; i++)
		s.region.header->levels[i] =
			(struct gpu_level_change){ .time_ns = 100 + i, .level = i, .cost_ppm = 7 };
	start(&s);
	gpu_collect_drain(s.c, 500);
	gpu_collect_finish(s.c, 1000);
	rows = facts_rows(s.p, FACT_GPU_LEVEL, &nr);
	assert_int_equal(nr, NR_GPU_COST_LEVELS);
	assert_int_equal(rows[2].level, GPU_COST_WINDOWS);
	assert_int_equal(rows[2].time_ns, 102);
	finish(&s);
}

static struct gpu_flops *put_flops(struct test_region *t, int i)
{
	struct gpu_flops *e = (struct gpu_flops *)test_area(t, &t->header->flops) + i;

	*e = (struct gpu_flops){
		.known = 1,
		.name = test_string(t, "cublasSgemm_v2"),
		.type = GPU_FLOPS_FP32,
		.source = GPU_FLOPS_ARGUMENTS,
		.calls = 3,
		.low = 600,
	};
	return e;
}

static void operations_become_facts_with_their_kernels_and_nonsense_is_refused(void **state)
{
	struct gpu_fold kernel = { .kind = GPU_FOLD_KERNEL, .device = 1, .flops = 1 };
	const struct fact_gpu_flops_work *works;
	const struct fact_gpu_flops *rows;
	struct setup s = { 0 };
	struct gpu_flops *e;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	kernel.name = test_string(&s.region, "gemm");
	test_fold_add(&s.region, &kernel, 70, 0);
	test_fold_add(&s.region, &kernel, 30, 0);
	kernel.flops = UINT32_MAX; /* there is no such entry */
	test_fold_add(&s.region, &kernel, 30, 0);
	e = put_flops(&s.region, 1);
	put_flops(&s.region, 2)->type = GPU_NR_FLOPS_TYPES;
	put_flops(&s.region, 3)->source = 200;
	put_flops(&s.region, 4)->high = 1ull << 40; /* more than any machine computes */
	put_flops(&s.region, 5)->saturated = 4;	    /* of three calls */
	*put_flops(&s.region, 6) = (struct gpu_flops){ .known = 1 }; /* nothing ran */
	start(&s);
	gpu_collect_drain(s.c, 500);
	e->calls = 4;
	e->low = 599; /* it carried into the upper half */
	e->high = 1;
	gpu_collect_drain(s.c, 5000000000);
	e->low = 5; /* sums never shrink */
	gpu_collect_finish(s.c, 9000000000);
	rows = facts_rows(s.p, FACT_GPU_FLOPS, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].id, 1);
	assert_int_equal(rows[0].calls, 4);
	assert_int_equal(rows[0].low, 599);
	assert_int_equal(rows[0].high, 1);
	assert_string_equal(profile_str(s.p, (uint32_t)rows[0].call), "cublasSgemm_v2");
	works = facts_rows(s.p, FACT_GPU_FLOPS_WORK, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(works[0].id, 1);
	assert_int_equal(works[0].device, 1);
	assert_int_equal(works[0].launches, 2);
	assert_int_equal(works[0].total_ns, 100);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_hangs_under_its_launch_and_its_ranges),
		cmocka_unit_test(launch_without_a_stack_has_a_marker_that_says_why),
		cmocka_unit_test(node_whose_launch_is_not_known_has_a_marker_above_its_own_stack),
		cmocka_unit_test(samples_add_up_to_all_activities_however_often_drained),
		cmocka_unit_test(sums_are_not_written_each_second_of_a_long_recording),
		cmocka_unit_test(calls_ranges_counters_and_failures_become_facts),
		cmocka_unit_test(estimates_have_their_error_and_nonsense_is_refused),
		cmocka_unit_test(levels_are_bounded_whatever_the_target_writes),
		cmocka_unit_test(
			operations_become_facts_with_their_kernels_and_nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
