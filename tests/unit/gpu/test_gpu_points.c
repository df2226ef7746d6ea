/*
 * What is kept over time: single activities, and points of device memory. Both are bounded, and
 * what is left out is counted.
 */
#include "tests/unit/gpu_setup.h"
#include "tests/unit/recording.h"

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/recording/decode.h"
#include "core/recording/fact_rows.h"
#include "gpu/memory_points.h"
#include "gpu/names.h"

static const uint64_t second = 1000000000;

static const struct fact_gpu_memory *points(const struct profile *p, size_t *ret_nr)
{
	return facts_rows(p, FACT_GPU_MEMORY, ret_nr);
}

static uint64_t left_out(const struct profile *p)
{
	const struct fact_gpu_counter *c;
	size_t nr;

	c = facts_rows(p, FACT_GPU_COUNTER, &nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(profile_str(p, (uint32_t)c[i].name), COUNTER_ACTIVITIES_LEFT_OUT))
			return c[i].value;
	return UINT64_MAX;
}

static void activities_have_the_call_that_launched_them(void **state)
{
	struct gpu_work w = { .start_ns = 5000, .end_ns = 5100, .correlation = 1, .stream = 7 };
	struct gpu_rec_sync sync = { .work = { .start_ns = 3000, .end_ns = 5200 }, .sync_type = 3 };
	const struct fact_gpu_activity *a;
	struct setup s = { 0 };
	uint64_t room = 2;
	uint32_t gemm;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	gemm = test_string(&s.region, "_Z4gemmPf");
	s.activity_room = &room;
	start(&s);
	emit_call(&s.region, GPU_API_LAUNCH, 1, 1200, 1210, 0);
	emit_kernel(&s.region, &w, gemm);
	sync.work.head = (struct gpu_record){ GPU_RECORD_SYNC, sizeof(sync), 77 };
	assert_true(test_emit(&s.region, TEST_LANES - 1, &sync));
	gpu_collect_drain(s.c, 6000);
	w.correlation = 2;
	emit_kernel(&s.region, &w, gemm); /* there is no room for it */
	gpu_collect_finish(s.c, 7000);
	a = facts_rows(s.p, FACT_GPU_ACTIVITY, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(left_out(s.p), 1);
	assert_string_equal(profile_str(s.p, (uint32_t)a[0].name), "gemm(float*)");
	assert_int_equal(a[0].kind, GPU_WORK_KERNEL);
	assert_int_equal(a[0].stream, 7);
	assert_int_equal(a[0].start_ns, 5000);
	assert_int_equal(a[0].duration_ns, 100);
	assert_int_equal(a[0].start_ns - a[0].call_ahead_ns, 1200);
	assert_int_equal(a[0].call_duration_ns, 10);
	assert_int_equal(s.p->threads[a[0].thread].tid, 77);
	assert_int_equal(a[1].kind, GPU_WORK_SYNC);
	assert_int_equal(a[1].thread, PROFILE_NONE);
	assert_int_equal(a[1].duration_ns, 2200);
	finish(&s);
}

/* Checks that the points are exactly these: a time and the bytes in use. */
static void check_points(const struct profile *p, const uint64_t (*want)[2], size_t nr_want)
{
	size_t nr;
	const struct fact_gpu_memory *m = points(p, &nr);

	assert_int_equal(nr, nr_want);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(m[i].time_ns, want[i][0]);
		assert_int_equal(m[i].used_bytes, want[i][1]);
	}
}

static void memory_is_added_up_in_order_of_time(void **state)
{
	static const uint64_t want[][2] = { { 50, 0 }, { 100, 32 }, { 200, 0 }, { 300, 64 } };
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	emit_memory(&s.region, GPU_MEMORY_FREE, 0, 50, 1000); /* allocated before the recording */
	emit_memory(&s.region, GPU_MEMORY_ALLOC, 0, 300, 64);
	emit_memory(&s.region, GPU_MEMORY_ALLOC, 0, 100, 32);
	gpu_collect_drain(s.c, second);
	emit_memory(&s.region, GPU_MEMORY_FREE, 0, 200, 32);
	gpu_collect_finish(s.c, 2 * second);
	check_points(s.p, want, 4);
	finish(&s);
}

static void emit_pool(struct test_region *t, uint64_t address, enum gpu_pool_op op,
		      uint64_t time_ns, uint64_t size_bytes)
{
	const struct gpu_rec_pool record = {
		.work = { .head = { GPU_RECORD_POOL, sizeof(record), 77 },
			  .start_ns = time_ns,
			  .end_ns = time_ns },
		.address = address,
		.size_bytes = size_bytes,
		.op = op,
	};

	assert_true(test_emit(t, TEST_LANES - 1, &record));
}

static void emit_from_pool(struct test_region *t, uint64_t pool, enum gpu_memory_op op,
			   uint64_t time_ns, uint64_t bytes, uint64_t pool_bytes)
{
	const struct gpu_rec_memory record = {
		.work = { .head = { GPU_RECORD_MEMORY, sizeof(record), 77 },
			  .start_ns = time_ns,
			  .end_ns = time_ns },
		.op = op,
		.bytes = bytes,
		.memory_kind = 3,
		.pool = pool,
		.pool_bytes = pool_bytes,
	};

	assert_true(test_emit(t, TEST_LANES - 1, &record));
}

static void a_pool_counts_as_what_it_has_reserved(void **state)
{
	static const uint64_t want[][2] = { { 100, 1000 }, { 200, 5000 }, { 400, 7000 },
					    { 500, 6000 }, { 700, 4000 }, { 900, 0 } };
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	start(&s);
	emit_memory(&s.region, GPU_MEMORY_ALLOC, 0, 100, 1000);
	emit_pool(&s.region, 0xa000, GPU_POOL_CREATED, 150, 0);
	emit_from_pool(&s.region, 0xa000, GPU_MEMORY_ALLOC, 200, 10, 4000);
	emit_from_pool(&s.region, 0xa000, GPU_MEMORY_ALLOC, 300, 20, 4000);
	emit_from_pool(&s.region, 0xb000, GPU_MEMORY_ALLOC, 400, 30, 2000);
	/* a pool block from before the recording: the pool's size counts, not the block */
	emit_memory(&s.region, GPU_MEMORY_FREE, 0, 500, 1 << 20);
	emit_from_pool(&s.region, 0xa000, GPU_MEMORY_FREE, 600, 20, 4000);
	emit_pool(&s.region, 0xb000, GPU_POOL_TRIMMED, 700, 0);
	/* a pool of another process */
	emit_from_pool(&s.region, 0xc000, GPU_MEMORY_ALLOC, 800, 30, 0);
	emit_pool(&s.region, 0xa000, GPU_POOL_DESTROYED, 900, 4000);
	gpu_collect_finish(s.c, 2 * second);
	check_points(s.p, want, sizeof(want) / sizeof(*want));
	finish(&s);
}

/* Ten allocations per ms for a while: a bounded number of points is written, with the peaks. */
static void points_of_much_memory_are_thinned_out_and_keep_the_peaks(void **state)
{
	const uint64_t nr_changes = 2000000, every_ns = 100000;
	struct test_region region;
	struct gpu_collect_opts opts = { .pid = 1 };
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	struct names names;
	struct memory_points m = { .names = &names };
	const struct fact_gpu_memory *rows;
	uint64_t peak = 0, highest = 0;
	size_t nr;

	(void)state;
	test_region_init(&region);
	test_region_open(&region);
	names_init(&names, region.shared, &opts, sink);
	for (uint64_t i = 0; i < nr_changes; i++) {
		const struct gpu_rec_memory record = {
			.work.start_ns = second + i * every_ns,
			.op = i % 2 ? GPU_MEMORY_FREE : GPU_MEMORY_ALLOC,
			.bytes = 1 + i / 2 % 997 * 1000 + (i / 2 == 777777 ? 1u << 30 : 0),
			.memory_kind = 3,
		};

		if (record.op == GPU_MEMORY_ALLOC && record.bytes > peak)
			peak = record.bytes;
		memory_points_take(&m, &record);
		if (i % 10000 == 0)
			memory_points_flush(&m, record.work.start_ns);
	}
	memory_points_flush(&m, UINT64_MAX);
	rows = points(p, &nr);
	assert_in_range(nr, 4096, 4096 + 3 * 4096 * 10);
	for (size_t i = 0; i < nr; i++) {
		assert_true(!i || rows[i].time_ns >= rows[i - 1].time_ns);
		highest = rows[i].used_bytes > highest ? rows[i].used_bytes : highest;
	}
	assert_int_equal(highest, peak);
	assert_int_equal(rows[nr - 1].used_bytes, 0);
	assert_int_equal(rows[nr - 1].time_ns, second + (nr_changes - 1) * every_ns);
	memory_points_fini(&m);
	names_fini(&names);
	shared_region_close(region.shared);
	profile_sink_free(sink);
	profile_free(p);
	test_region_fini(&region);
}

/* A reader refuses rows whose name or thread is not in the recording. */
static void rows_that_make_no_sense_are_refused(void **state)
{
	const struct fact_gpu_activity bad[] = {
		{ .pid = 1, .thread = PROFILE_NONE, .name = 4000 },
		{ .pid = 1, .thread = PROFILE_NONE, .call = 4000 },
		{ .pid = 1, .thread = 4000 },
	};

	(void)state;
	for (size_t i = 0; i <= sizeof(bad) / sizeof(*bad); i++) {
		const struct fact_gpu_activity good = { .pid = 1, .thread = PROFILE_NONE };
		struct profile *p = profile_new();
		struct buffer b = { 0 }, entry = { 0 };
		struct decoder d = { .p = p };
		struct cursor c;
		uint32_t zero = 0;

		d.strings.ids = &zero;
		d.strings.nr = 1;
		facts_encode(&b, &entry, FACT_GPU_ACTIVITY,
			     i < sizeof(bad) / sizeof(*bad) ? &bad[i] : &good);
		c = (struct cursor){ .at = (const uint8_t *)b.data,
				     .end = (const uint8_t *)b.data + b.size };
		assert_int_equal(facts_decode(&d, &c), i == sizeof(bad) / sizeof(*bad));
		buffer_fini(&b);
		buffer_fini(&entry);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(activities_have_the_call_that_launched_them),
		cmocka_unit_test(memory_is_added_up_in_order_of_time),
		cmocka_unit_test(a_pool_counts_as_what_it_has_reserved),
		cmocka_unit_test(points_of_much_memory_are_thinned_out_and_keep_the_peaks),
		cmocka_unit_test(rows_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
