/* core/recording/part_sums.c: sums of recordings that are read as one. */
#include "tests/unit/recording.h"

#include "core/profile/facts.h"
#include "core/profile/hosts.h"

#define S UINT64_C(1000000000)

/* Writes a recording of 10 s that begins so long after the first one. */
static struct recfile *begin(const char *host, uint64_t after_ns)
{
	struct recfile_meta meta = test_meta;
	struct recfile *w;

	meta.hostname = host;
	meta.start_ns += after_ns;
	meta.start_realtime_ns += after_ns;
	assert_int_equal(recfile_create("part.data", &meta, &w), 0);
	return w;
}

static uint32_t thread_of(struct recfile *w, uint32_t tid)
{
	struct sink *sink = recfile_sink(w);

	return sink->thread(sink, 10, tid, sink_cstring(sink, "worker"));
}

static void put(struct recfile *w, enum fact_kind kind, const void *row)
{
	struct sink *sink = recfile_sink(w);

	sink->fact(sink, kind, row);
}

static void add_lock(struct profile *p, struct recfile_part *part, const char *host,
		     uint64_t after_ns, uint64_t waits)
{
	struct recfile *w = begin(host, after_ns);
	struct fact_lock_wait lock = {
		.pid = 10,
		.address = 0x1000,
		.thread = thread_of(w, 11),
		.holder = PROFILE_NONE,
		.waits = waits / 2,
		.longest_ns = waits,
	};

	put(w, FACT_LOCK_WAIT, &lock);
	recfile_flush(w);
	lock.waits = waits; /* the same row, later */
	put(w, FACT_LOCK_WAIT, &lock);
	add_part(w, test_meta.start_ns + after_ns + 10 * S, p, part);
}

static const struct fact_lock_wait *locks_of(const struct profile *p, size_t nr)
{
	size_t found;
	const struct fact_lock_wait *rows = facts_rows(p, FACT_LOCK_WAIT, &found);

	assert_int_equal(found, nr);
	return rows;
}

static void rows_of_recordings_are_added_and_those_of_one_replaced(void **state)
{
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();

	(void)state;
	add_lock(p, &part, "host", 0, 4);
	add_lock(p, &part, "host", 10 * S, 6);
	assert_int_equal(locks_of(p, 1)->waits, 10);
	assert_int_equal(locks_of(p, 1)->longest_ns, 6);
	assert_int_equal(p->sums.nr, 2);
	assert_int_equal(p->sums.nr_partly, 0);
	profile_free(p);
}

static void sums_of_hostile_numbers_end_at_the_greatest(void **state)
{
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();

	(void)state;
	add_lock(p, &part, "host", 0, UINT64_MAX - 1);
	add_lock(p, &part, "host", 10 * S, 6);
	assert_int_equal(locks_of(p, 1)->waits, UINT64_MAX);
	profile_free(p);
}

static void a_recording_counts_whole_or_not_at_all(void **state)
{
	const uint64_t start = test_meta.start_realtime_ns;
	struct recfile_part part = {
		.from_realtime_ns = start + 15 * S,
		.to_realtime_ns = start + 30 * S,
	};
	struct profile *p = profile_new();

	(void)state;
	add_lock(p, &part, "host", 0, 1);
	assert_int_equal(p->sums.nr, 0);
	add_lock(p, &part, "host", 10 * S, 2);
	assert_int_equal(p->sums.nr_partly, 1);
	add_lock(p, &part, "host", 20 * S, 4);
	add_lock(p, &part, "host", 30 * S, 8);
	assert_int_equal(locks_of(p, 1)->waits, 6);
	assert_int_equal(p->sums.nr, 2);
	assert_int_equal(p->sums.nr_partly, 1);
	profile_free(p);
}

static void hosts_have_sums_and_processes_of_their_own(void **state)
{
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();
	const struct fact_lock_wait *rows;

	(void)state;
	add_lock(p, &part, "a", 0, 1);
	assert_false(p->has_hosts);
	add_lock(p, &part, "b", 0, 2);
	add_lock(p, &part, "a", 10 * S, 4);
	rows = locks_of(p, 2);
	assert_true(p->has_hosts);
	assert_int_equal(p->nr_threads, 2);
	assert_int_equal(rows[0].waits, 5);
	assert_int_equal(rows[1].waits, 2);
	assert_string_equal(hosts_name(p, rows[0].pid), "a");
	assert_string_equal(hosts_name(p, rows[1].pid), "b");
	assert_int_equal((uint32_t)rows[1].pid, 10);
	assert_int_equal(hosts_process(&p->threads[rows[1].thread]), rows[1].pid);
	profile_free(p);
}

static void add_times(struct profile *p, struct recfile_part *part, uint64_t wall_ns)
{
	struct recfile *w = begin("host", 0);
	const struct fact_thread_time one = {
		.pid = 10,
		.thread = thread_of(w, 11),
		.start_ns = 3 * S,
		.threads = 1,
		.wall_ns = wall_ns,
	};
	const struct fact_thread_time others = {
		.thread = PROFILE_NONE,
		.threads = 2,
		.wall_ns = wall_ns,
	};

	put(w, FACT_THREAD_TIME, &one);
	put(w, FACT_THREAD_TIME, &others);
	add_part(w, test_meta.start_ns + 10 * S, p, part);
}

static void time_of_a_thread_that_is_told_twice_counts_once(void **state)
{
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();
	const struct fact_thread_time *rows;
	size_t nr;

	(void)state;
	add_times(p, &part, 9);
	add_times(p, &part, 7);
	rows = facts_rows(p, FACT_THREAD_TIME, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(rows[0].wall_ns, 9);
	assert_int_equal(rows[1].threads, 4);
	assert_int_equal(rows[1].wall_ns, 16);
	profile_free(p);
}

/* A row of a thread that is watched since 3 s, whose piece begins at from_ns. */
static void add_piece(struct profile *p, struct recfile_part *part, uint64_t after_ns,
		      uint64_t from_ns, uint64_t wall_ns)
{
	struct recfile *w = begin("host", after_ns);
	const struct fact_thread_time piece = {
		.pid = 10,
		.thread = thread_of(w, 11),
		.start_ns = 3 * S,
		.threads = 1,
		.wall_ns = wall_ns,
		.cpu_ns = 1,
		.waiting_ns = wall_ns - 1,
		.waits = 2,
		.from_ns = from_ns,
	};

	put(w, FACT_THREAD_TIME, &piece);
	add_part(w, test_meta.start_ns + after_ns + 10 * S, p, part);
}

static void pieces_of_a_thread_are_added_up(void **state)
{
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();
	const struct fact_thread_time *rows;
	size_t nr;

	(void)state;
	add_piece(p, &part, 10 * S, 10 * S, 10 * S);
	add_piece(p, &part, 20 * S, 20 * S, 10 * S);
	add_piece(p, &part, 0, 0, 7 * S);
	rows = facts_rows(p, FACT_THREAD_TIME, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].threads, 1);
	assert_int_equal(rows[0].wall_ns, 27 * S);
	assert_int_equal(rows[0].cpu_ns, 3);
	assert_int_equal(rows[0].waits, 6);
	assert_int_equal(rows[0].start_ns, facts_thread_from(&rows[0]));
	profile_free(p);
}

static void histograms_of_calls_are_added_up(void **state)
{
	const struct fact_call_times times = { .number = 7, .octave = 3, .calls = { 1, 0, 5 } };
	struct recfile_part part = { .to_realtime_ns = UINT64_MAX };
	struct profile *p = profile_new();
	const struct fact_call_times *rows;
	size_t nr;

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		struct recfile *w = begin("host", i * 10 * S);

		put(w, FACT_CALL_TIMES, &times);
		put(w, FACT_CALL_TIMES, &times); /* as it is told again and again */
		add_part(w, test_meta.start_ns + (i + 1) * 10 * S, p, &part);
	}
	rows = facts_rows(p, FACT_CALL_TIMES, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].calls[0], 2);
	assert_int_equal(rows[0].calls[1], 0);
	assert_int_equal(rows[0].calls[2], 10);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_recordings_are_added_and_those_of_one_replaced),
		cmocka_unit_test(sums_of_hostile_numbers_end_at_the_greatest),
		cmocka_unit_test(a_recording_counts_whole_or_not_at_all),
		cmocka_unit_test(hosts_have_sums_and_processes_of_their_own),
		cmocka_unit_test(time_of_a_thread_that_is_told_twice_counts_once),
		cmocka_unit_test(pieces_of_a_thread_are_added_up),
		cmocka_unit_test(histograms_of_calls_are_added_up),
	};

	return cmocka_run_group_tests(tests, enter_new_directory, remove_directory);
}
