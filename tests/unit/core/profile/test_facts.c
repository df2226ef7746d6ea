/*
 * core/profile/facts.c: facts are kept by key, and are the same after being written to a recording
 * and read, whatever was cut off.
 */
#include "tests/unit/recording.h"

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "core/profile/source.h"
#include "core/recording/decode.h"
#include "core/recording/fact_rows.h"

static void put_work(struct sink *s, const char *name, uint64_t calls, uint64_t total_ns)
{
	struct fact_gpu_work row = {
		.pid = 100,
		.kind = GPU_WORK_KERNEL,
		.name = record_string(s, name),
		.calls = calls,
		.total_ns = total_ns,
		.max_ns = UINT64_MAX,
		.block = { 256, 1, 1 },
	};

	s->fact(s, FACT_GPU_WORK, &row);
}

static void put_run(struct sink *s, uint32_t thread, int64_t net_bytes)
{
	struct fact_range_run row = {
		.pid = 100,
		.range = 1,
		.thread = thread,
		.start_ns = 5000000123,
		.duration_ns = 77,
		.net_bytes = (uint64_t)net_bytes,
	};

	s->fact(s, FACT_RANGE_RUN, &row);
}

static void put_all(struct sink *s)
{
	uint32_t thread = s->thread(s, 100, 101, record_string(s, "trainer"));

	put_work(s, "gemm", 1, 1000);
	put_work(s, "softmax", 7, 70);
	put_work(s, "gemm", 3, 2500);
	put_run(s, thread, -4096);
	put_run(s, PROFILE_NONE, 4096);
	put_run(s, PROFILE_NONE, 4096);
}

static void check_all(const struct profile *p)
{
	const struct fact_gpu_work *work;
	const struct fact_range_run *runs;
	size_t nr;

	work = facts_rows(p, FACT_GPU_WORK, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(profile_str(p, (uint32_t)work[0].name), "gemm");
	assert_int_equal(work[0].calls, 3);
	assert_int_equal(work[0].total_ns, 2500);
	assert_true(work[0].max_ns == UINT64_MAX);
	assert_int_equal(work[0].block[0], 256);
	assert_string_equal(profile_str(p, (uint32_t)work[1].name), "softmax");
	runs = facts_rows(p, FACT_RANGE_RUN, &nr);
	assert_int_equal(nr, 3);
	assert_int_equal(p->threads[runs[0].thread].tid, 101);
	assert_int_equal((int64_t)runs[0].net_bytes, -4096);
	assert_int_equal(runs[1].thread, PROFILE_NONE);
	assert_int_equal(runs[2].start_ns, 5000000123);
	assert_null(facts_rows(p, FACT_GPU_NOTE, &nr));
	assert_int_equal(nr, 0);
}

static void row_of_the_same_key_replaces_the_one_before(void **state)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink_new(p);

	(void)state;
	put_all(s);
	check_all(p);
	profile_sink_free(s);
	profile_free(p);
}

static void facts_survive_a_recording(void **state)
{
	struct recfile *w = create_recording("facts.data");
	struct profile *p;

	(void)state;
	put_work(recfile_sink(w), "gemm", 1, 500);
	recfile_flush(w);
	put_all(recfile_sink(w));
	recfile_finish(w, NULL, 6000000000);
	recfile_free(w);
	p = read_recording("facts.data", NULL);
	check_all(p);
	profile_free(p);
}

static void many_facts_need_no_flush_by_the_caller(void **state)
{
	struct recfile *w = create_recording("many.data");
	struct profile *p;
	size_t nr;

	(void)state;
	for (int i = 0; i < 300000; i++)
		put_run(recfile_sink(w), PROFILE_NONE, i);
	assert_true(recfile_size_bytes(w) > 100);
	recfile_finish(w, NULL, 6000000000);
	recfile_free(w);
	p = read_recording("many.data", NULL);
	assert_int_equal(
		(int64_t)((const struct fact_range_run *)facts_rows(p, FACT_RANGE_RUN, &nr))[299999]
			.net_bytes,
		299999);
	assert_int_equal(nr, 300000);
	profile_free(p);
}

/* Decodes a payload in which string 1 is "x" and thread 0 is lost. */
static bool decode(const struct buffer *b, struct profile *p)
{
	struct cursor c = { .at = (const uint8_t *)b->data,
			    .end = (const uint8_t *)b->data + b->size };
	struct decoder d;
	bool good;

	decoder_init(&d, p);
	d.strings.ids = xgrow(d.strings.ids, &d.strings.capacity, 2, sizeof(*d.strings.ids));
	d.strings.ids[d.strings.nr++] = profile_cstring(p, "x");
	d.threads.ids = xgrow(NULL, &d.threads.capacity, 1, sizeof(*d.threads.ids));
	d.threads.ids[d.threads.nr++] = PROFILE_NONE;
	good = facts_decode(&d, &c);
	decoder_fini(&d);
	return good;
}

static void functions_that_were_not_hooked_are_kept_by_name(void **state)
{
	static const uint8_t payload[] = {
		60, 4, 100, 1, 1, 0, /* without a reason, */
		60, 4, 100, 1, 1, 1, /* which comes later */
		60, 2, 100, 1,	     /* fields are missing */
	};
	struct buffer b = { (char *)payload, sizeof(payload), 0 };
	struct profile *p = profile_new();
	const struct fact_memory_unhooked *rows;
	size_t nr;

	(void)state;
	assert_true(decode(&b, p));
	rows = facts_rows(p, FACT_MEMORY_UNHOOKED, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(rows[0].pid, 100);
	assert_string_equal(profile_str(p, (uint32_t)rows[0].why), "x");
	assert_string_equal(profile_str(p, (uint32_t)rows[1].path), "");
	profile_free(p);
}

static void unknown_kinds_and_fields_are_skipped_by_size(void **state)
{
	static const uint8_t payload[] = {
		99, 3, 1,   2, 3,	 /* a kind from a later version */
		6,  5, 100, 1, 42, 7, 7, /* a counter with two more fields */
		6,  1, 101,		 /* a counter with two fields fewer */
		5,  3, 100, 1, 1,	 /* a run in a lost thread */
		5,  1, 100,		 /* a run without the thread field */
	};
	struct buffer b = { (char *)payload, sizeof(payload), 0 };
	struct profile *p = profile_new();
	const struct fact_gpu_counter *counters;
	const struct fact_range_run *runs;
	size_t nr;

	(void)state;
	assert_true(decode(&b, p));
	counters = facts_rows(p, FACT_GPU_COUNTER, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(profile_str(p, (uint32_t)counters[0].name), "x");
	assert_int_equal(counters[0].value, 42);
	assert_int_equal(counters[1].pid, 101);
	assert_int_equal(counters[1].name, 0);
	runs = facts_rows(p, FACT_RANGE_RUN, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(runs[0].thread, PROFILE_NONE);
	assert_int_equal(runs[1].thread, PROFILE_NONE);
	profile_free(p);
}

static void what_does_not_follow_the_format_is_refused(void **state)
{
	static const struct {
		uint8_t bytes[6];
		size_t size;
	} bad[] = {
		{ { 6 }, 1 },			  /* no size */
		{ { 6, 4, 100, 1, 42 }, 5 },	  /* cut off */
		{ { 6, 2, 100, 2 }, 4 },	  /* a string that does not exist */
		{ { 60, 4, 100, 1, 1, 9 }, 6 },	  /* the same, of an unhooked function */
		{ { 5, 3, 100, 1, 2 }, 5 },	  /* a thread that does not exist */
		{ { 6, 3, 100, 0x80, 0x80 }, 5 }, /* a number without an end */
	};
	struct profile *p = profile_new();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buffer b = { (char *)bad[i].bytes, bad[i].size, 0 };

		assert_false(decode(&b, p));
	}
	profile_free(p);
}

/* The sums of a day, written every second. */
static void sums_written_any_number_of_times_take_room_once(void **state)
{
	static const uint8_t row[] = { 6, 3, 100, 1, 42 };
	struct profile *p = profile_new();
	struct buffer b = { 0 };
	size_t nr;

	(void)state;
	for (int i = 0; i < 5000000; i++)
		buffer_add(&b, row, sizeof(row));
	assert_true(decode(&b, p));
	facts_rows(p, FACT_GPU_COUNTER, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(p->nr_facts_left_out, 0);
	buffer_fini(&b);
	profile_free(p);
}

/* Rows without a key, however many, displace only each other and never the sums that come later. */
static void rows_beyond_all_room_are_left_out_and_counted(void **state)
{
	static const uint8_t row[] = { 8, 1, 100 }, sum[] = { 6, 3, 100, 1, 42 };
	struct profile *p = profile_new();
	struct buffer b = { 0 };
	size_t nr;

	(void)state;
	for (int i = 0; i < 5000000; i++)
		buffer_add(&b, row, sizeof(row));
	buffer_add(&b, sum, sizeof(sum));
	assert_true(decode(&b, p));
	facts_rows(p, FACT_GPU_MEMORY, &nr);
	assert_int_equal(nr + p->nr_facts_left_out, 5000000);
	assert_int_equal(nr, 1 << 22);
	facts_rows(p, FACT_GPU_COUNTER, &nr);
	assert_int_equal(nr, 1);
	buffer_fini(&b);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_of_the_same_key_replaces_the_one_before),
		cmocka_unit_test(facts_survive_a_recording),
		cmocka_unit_test(many_facts_need_no_flush_by_the_caller),
		cmocka_unit_test(functions_that_were_not_hooked_are_kept_by_name),
		cmocka_unit_test(unknown_kinds_and_fields_are_skipped_by_size),
		cmocka_unit_test(what_does_not_follow_the_format_is_refused),
		cmocka_unit_test(sums_written_any_number_of_times_take_room_once),
		cmocka_unit_test(rows_beyond_all_room_are_left_out_and_counted),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
