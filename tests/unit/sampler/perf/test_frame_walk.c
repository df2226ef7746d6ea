/*
 * sampler/perf/frame_walk.c: a reader of Python frames keeps to its part of a CPU, and sees whether
 * a C stack has changed.
 */
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

#include "sampler/perf/frame_walk.h"
#include "sampler/perf/perf_record.h"

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

/* The stack of a thread of this process, with the copy that a sample has of it. */
static uint64_t words[512], copy[512], room[512];
static struct perf_sample with_stack(void)
{
	for (size_t i = 0; i < 512; i++)
		words[i] = i;
	memcpy(copy, words, sizeof(copy));
	return (struct perf_sample){
		.gpr = { [WALK_REG_SP] = (uintptr_t)words },
		.stack = (const uint8_t *)copy,
		.stack_size = sizeof(copy),
	};
}

static void a_stack_that_differs_in_a_byte_has_changed(void **state)
{
	struct perf_sample sample = with_stack();

	(void)state;
	assert_true(frame_walk_stack_is(getpid(), &sample, room));
	words[511] ^= 1;
	assert_false(frame_walk_stack_is(getpid(), &sample, room));
}

static void a_stack_that_cannot_be_compared_counts_as_changed(void **state)
{
	struct perf_sample sample = with_stack();

	(void)state;
	sample.stack_size = 0;
	assert_false(frame_walk_stack_is(getpid(), &sample, room));
	sample = with_stack();
	sample.gpr[WALK_REG_SP] = 8; /* not mapped */
	assert_false(frame_walk_stack_is(getpid(), &sample, room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_take_long_take_no_more_than_their_part),
		cmocka_unit_test(a_reader_that_slept_saves_up_only_so_much),
		cmocka_unit_test(a_stack_that_differs_in_a_byte_has_changed),
		cmocka_unit_test(a_stack_that_cannot_be_compared_counts_as_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
