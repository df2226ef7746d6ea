/* sampler/sink/thread_pieces.c: the pieces of a thread's time add up, and none is negative. */
#include "tests/unit/unit.h"

#include "core/profile/facts.h"
#include "sampler/sink/thread_pieces.h"

#define START 1000

/* What a thread did since START. */
static struct fact_thread_time whole(uint64_t cpu, uint64_t runnable, uint64_t waiting)
{
	return (struct fact_thread_time){
		.pid = 1,
		.start_ns = START,
		.threads = 1,
		.wall_ns = cpu + runnable + waiting,
		.cpu_ns = cpu,
		.runnable_ns = runnable,
		.waiting_ns = waiting,
		.waits = cpu,
	};
}

static void assert_piece(const struct fact_thread_time *row, uint64_t cpu, uint64_t runnable,
			 uint64_t waiting, uint64_t from)
{
	assert_int_equal(row->cpu_ns, cpu);
	assert_int_equal(row->runnable_ns, runnable);
	assert_int_equal(row->waiting_ns, waiting);
	assert_int_equal(row->wall_ns, cpu + runnable + waiting);
	assert_int_equal(row->start_ns, START);
	assert_int_equal(row->from_ns, from);
}

static void a_segment_gets_what_was_added_in_its_time(void **state)
{
	struct thread_pieces *p = thread_pieces_new(10);
	struct fact_thread_time row = whole(10, 20, 30);

	(void)state;
	assert_true(thread_pieces_cut(p, 7, true, &row));
	assert_piece(&row, 10, 20, 30, 0);
	thread_pieces_turn(p);
	row = whole(15, 20, 31);
	assert_true(thread_pieces_cut(p, 7, true, &row));
	assert_piece(&row, 5, 0, 1, START + 60);
	assert_int_equal(row.waits, 5);
	/* It ends in the same segment: its last row is one of the whole piece. */
	row = whole(17, 20, 31);
	assert_true(thread_pieces_cut(p, 7, false, &row));
	assert_piece(&row, 7, 0, 1, START + 60);
	thread_pieces_free(p);
}

static void an_end_that_comes_late_is_the_rest(void **state)
{
	struct thread_pieces *p = thread_pieces_new(10);
	struct fact_thread_time row = whole(10, 20, 30);

	(void)state;
	assert_true(thread_pieces_cut(p, 7, true, &row));
	thread_pieces_turn(p);
	thread_pieces_turn(p);
	row = whole(11, 20, 30);
	assert_true(thread_pieces_cut(p, 7, false, &row));
	assert_piece(&row, 1, 0, 0, START + 60);
	thread_pieces_free(p);
}

/* It was taken for waiting until the end of the segment, and had been woken long before. */
static void what_a_segment_had_too_much_of_the_next_gets_less(void **state)
{
	struct thread_pieces *p = thread_pieces_new(10);
	struct fact_thread_time row = whole(0, 0, 50);

	(void)state;
	assert_true(thread_pieces_cut(p, 7, true, &row));
	thread_pieces_turn(p);
	row = whole(0, 100, 10); /* 60 later */
	assert_true(thread_pieces_cut(p, 7, true, &row));
	assert_piece(&row, 0, 60, 0, START + 50);
	thread_pieces_turn(p);
	row = whole(0, 100, 60);
	assert_true(thread_pieces_cut(p, 7, true, &row));
	assert_piece(&row, 0, 40, 10, START + 110); /* all together: 100 and 60 */
	thread_pieces_free(p);
}

static void a_number_that_is_used_again_is_another_thread(void **state)
{
	struct thread_pieces *p = thread_pieces_new(10);
	struct fact_thread_time row = whole(10, 20, 30);

	(void)state;
	assert_true(thread_pieces_cut(p, 7, true, &row));
	thread_pieces_turn(p);
	row = whole(3, 0, 0);
	row.start_ns = START + 500;
	assert_true(thread_pieces_cut(p, 7, true, &row));
	assert_int_equal(row.cpu_ns, 3);
	assert_int_equal(row.from_ns, 0);
	thread_pieces_turn(p);
	row = whole(5, 0, 0);
	row.start_ns = START + 500;
	assert_true(thread_pieces_cut(p, 7, false, &row));
	assert_int_equal(row.cpu_ns, 2);
	thread_pieces_free(p);
}

static void threads_beyond_the_limit_are_told_whole_when_they_end(void **state)
{
	struct thread_pieces *p = thread_pieces_new(1);
	struct fact_thread_time row = whole(10, 20, 30);

	(void)state;
	assert_true(thread_pieces_cut(p, 7, true, &row));
	row = whole(1, 2, 3);
	assert_false(thread_pieces_cut(p, 8, true, &row));
	thread_pieces_turn(p);
	row = whole(4, 5, 6);
	assert_true(thread_pieces_cut(p, 8, false, &row));
	assert_piece(&row, 4, 5, 6, 0);
	/* Threads of which nothing is heard leave their room to others. */
	for (int i = 0; i < 10; i++)
		thread_pieces_turn(p);
	row = whole(1, 2, 3);
	assert_true(thread_pieces_cut(p, 9, true, &row));
	thread_pieces_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_gets_what_was_added_in_its_time),
		cmocka_unit_test(an_end_that_comes_late_is_the_rest),
		cmocka_unit_test(what_a_segment_had_too_much_of_the_next_gets_less),
		cmocka_unit_test(a_number_that_is_used_again_is_another_thread),
		cmocka_unit_test(threads_beyond_the_limit_are_told_whole_when_they_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
