/* sampler/perf/frame_walk.c: a reader of Python frames keeps to its part of a CPU. */
#include "tests/unit/unit.h"

#include "sampler/perf/frame_walk.h"

#define MS 1000000ull

/* A target that is sampled every ms and whose every stack takes 5 ms: the part that is read. */
static void stacks_that_take_long_take_no_more_than_their_part(void **state)
{
	int64_t allowance = 20 * (int64_t)MS;
	uint64_t time = 0, used = 0, last = 0;

	(void)state;
	while (time < 10000 * MS) {
		allowance = frame_walk_allowance(allowance, time - last, 0);
		last = time;
		if (allowance > 0) {
			allowance = frame_walk_allowance(allowance, 0, 5 * MS);
			used += 5 * MS;
			time += 5 * MS;
		}
		time += MS;
	}
	assert_in_range(used, time / 10, time / 8 + 30 * MS);
}

static void a_reader_that_slept_saves_up_only_so_much(void **state)
{
	(void)state;
	assert_int_equal(frame_walk_allowance(0, 3600000 * MS, 0), 20 * MS);
	assert_int_equal(frame_walk_allowance(0, 8 * MS, 3 * MS), -2 * (int64_t)MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_take_long_take_no_more_than_their_part),
		cmocka_unit_test(a_reader_that_slept_saves_up_only_so_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
