/* Merging native stacks and Python runs: by boundary, by text, and where neither matches. */
#include <string.h>

#include "tests/unit/unit.h"

#include "core/portable/frames.h"
#include "core/portable/pycode.h"
#include "sampler/runtimes/python/merge_frames.h"

#define PY(n) (FRAME_PYTHON | (n))
#define MAX 16

/* leaf, eval, C, eval, main; each has 0x100 bytes of stack, from 0x1000 on */
static const uint64_t frames[] = { FRAME_EXACT | 0x10, 0x5005, 0x20, 0x5008, 0x30 };
static const uint64_t sps[] = { 0x1000, 0x1100, 0x1200, 0x1300, 0x1400 };
static const struct native_stack native = { frames, sps, 5 };

static void expect(const struct python_runs *runs, const uint64_t *truth, size_t nr)
{
	uint64_t merged[MAX];

	assert_int_equal(python_merge(&native, runs, merged, MAX), nr);
	assert_memory_equal(merged, truth, nr * sizeof(*truth));
}

static void runs_replace_the_frames_that_hold_their_boundaries(void **state)
{
	static const uint64_t words[] = { 0x1100, PY(1), PY(2), 0x13ff, PY(3) };
	static const uint64_t truth[] = { FRAME_EXACT | 0x10, PY(1), PY(2), 0x20, PY(3), 0x30 };
	const struct python_runs runs = { .words = words, .nr = 5 };

	(void)state;
	expect(&runs, truth, 6);
}

static void a_boundary_just_outside_a_frame_is_not_in_it(void **state)
{
	static const uint64_t words[] = { 0x1200, PY(1) };
	static const uint64_t truth[] = { FRAME_EXACT | 0x10, 0x5005, PY(1), 0x5008, 0x30 };
	const struct python_runs runs = { .words = words, .nr = 2 };

	(void)state;
	expect(&runs, truth, 5);
}

static void runs_without_boundaries_replace_frames_in_the_eval_loop(void **state)
{
	static const uint64_t words[] = { 0, PY(1), 0, PY(2) };
	static const uint64_t truth[] = { FRAME_EXACT | 0x10, PY(1), 0x20, PY(2), 0x30 };
	const struct python_runs runs = {
		.words = words, .nr = 4, .eval_start = 0x5000, .eval_size = 8
	};

	(void)state;
	/* 0x5008 is a return address: its call is the last instruction of the text */
	expect(&runs, truth, 5);
}

static void runs_that_no_frame_holds_follow_at_the_root(void **state)
{
	static const uint64_t words[] = { 0x1300, PY(1), 0x9000, PY(2), PY(3) };
	static const uint64_t truth[] = {
		FRAME_EXACT | 0x10, 0x5005, 0x20, PY(1), 0x30, PY(2), PY(3)
	};
	const struct python_runs runs = { .words = words, .nr = 5 };

	(void)state;
	expect(&runs, truth, 7);
}

static void what_does_not_fit_is_left_out(void **state)
{
	static const uint64_t words[] = { 0x1100, PY(1), PY(2), PY(3) };
	const struct python_runs runs = { .words = words, .nr = 4 };
	uint64_t merged[3] = { 0, 0, 7 };

	(void)state;
	assert_int_equal(python_merge(&native, &runs, merged, 2), 2);
	assert_int_equal(merged[1], PY(1));
	assert_int_equal(merged[2], 7);
}

static void what_belongs_together_fits(void **state)
{
	static const uint64_t both[] = { 0x1100, PY(1), PY(2), 0x13ff, PY(3) };
	static const uint64_t elsewhere[] = { 0x1100, PY(1), 0x9000, PY(3) };
	const struct python_runs fits = { .words = both, .nr = 5 };
	const struct python_runs one_left = { .words = elsewhere, .nr = 4 };
	size_t leaf = 7;

	(void)state;
	assert_true(python_merge_fits(&native, &fits, true, &leaf));
	assert_int_equal(leaf, 0);
	assert_false(python_merge_fits(&native, &one_left, true, &leaf));
	assert_true(python_merge_fits(&native, &one_left, false, &leaf));
}

static void only_the_innermost_call_of_the_eval_loop_may_have_no_run(void **state)
{
	static const uint64_t words[] = { 0, PY(1), 0, PY(2) };
	struct python_runs runs = { .words = words, .eval_start = 0x5000, .eval_size = 9 };
	size_t leaf;

	(void)state;
	runs.nr = 4;
	assert_true(python_merge_fits(&native, &runs, true, &leaf));
	assert_int_equal(leaf, 0);
	runs.nr = 2;
	assert_true(python_merge_fits(&native, &runs, true, &leaf));
	assert_int_equal(leaf, 2);
	runs.nr = 0;
	assert_false(python_merge_fits(&native, &runs, true, &leaf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_replace_the_frames_that_hold_their_boundaries),
		cmocka_unit_test(a_boundary_just_outside_a_frame_is_not_in_it),
		cmocka_unit_test(runs_without_boundaries_replace_frames_in_the_eval_loop),
		cmocka_unit_test(runs_that_no_frame_holds_follow_at_the_root),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(what_belongs_together_fits),
		cmocka_unit_test(only_the_innermost_call_of_the_eval_loop_may_have_no_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
