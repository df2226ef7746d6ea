/* sampler/sink/repeats.c: frames of a recursion are found, whatever its length and beginning. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/profile.h"
#include "core/profile/markers.h"
#include "sampler/sink/repeats.h"

#define NR 1000

/* Fills words[from] and on with runs of `length` words. */
static void fill_runs(uint64_t *words, size_t from, size_t nr, size_t length)
{
	for (size_t i = 0; i < nr; i++)
		words[from + i] = 100 + i % length;
}

static void fill_distinct(uint64_t *words)
{
	for (size_t i = 0; i < NR; i++)
		words[i] = 100000 + i;
}

static void runs_of_every_length_are_found(void **state)
{
	uint64_t words[NR];

	(void)state;
	for (uint32_t length = 1; length <= REPEAT_MAX_FRAMES; length++) {
		struct repeat r;

		fill_distinct(words);
		fill_runs(words, 7, 10 * length + length / 2, length);
		if (length < 2)
			fill_runs(words, 7, 20, length);
		r = repeats_next(words, NR, 0);
		assert_int_equal(r.start, 7);
		assert_int_equal(r.nr_frames, length);
		assert_int_equal(r.nr_more, length < 2 ? 19 : 9);
		r = repeats_next(words, NR, 7 + (size_t)r.nr_frames * (1 + r.nr_more));
		assert_int_equal(r.start, NR);
		assert_int_equal(r.nr_more, 0);
	}
}

static void what_is_too_short_or_too_long_is_stored(void **state)
{
	uint64_t words[NR];

	(void)state;
	fill_distinct(words);
	assert_int_equal(repeats_next(words, NR, 0).start, NR);
	fill_runs(words, 50, 16, 1); /* 15 more */
	assert_int_equal(repeats_next(words, NR, 0).nr_more, 0);
	fill_distinct(words);
	fill_runs(words, 0, 5 * (REPEAT_MAX_FRAMES + 1), REPEAT_MAX_FRAMES + 1);
	assert_int_equal(repeats_next(words, NR, 0).nr_more, 0);
}

static void the_last_word_is_always_stored(void **state)
{
	uint64_t words[NR];
	struct repeat r;

	(void)state;
	fill_runs(words, 0, NR, 1);
	r = repeats_next(words, NR, 0);
	assert_int_equal(r.start + r.nr_more + 1, NR - 1);
	for (size_t nr = 0; nr < 20; nr++)
		assert_true(repeats_next(words, nr, 0).start <= nr);
}

static void names_differ_only_by_powers_of_two(void **state)
{
	char name[64], again[64];

	(void)state;
	repeat_marker_name(repeat_marker(1, 312), name, sizeof(name));
	assert_string_equal(name, "[1 frame repeated 256-511 times]");
	repeat_marker_name(repeat_marker(2, 1), name, sizeof(name));
	assert_string_equal(name, "[2 frames repeated once]");
	for (uint32_t frames = 1; frames <= REPEAT_MAX_FRAMES; frames++) {
		for (uint32_t times = 1; times < 70000; times += 1 + times / 3) {
			uint64_t marker = repeat_marker(frames, times);

			assert_true(repeat_marker_is(marker));
			repeat_marker_name(marker, name, sizeof(name));
			repeat_marker_name(repeat_marker_class(marker), again, sizeof(again));
			assert_string_equal(name, again);
			assert_int_equal(marker_from_name(name, strlen(name)), MARKER_REPEATED);
			assert_int_equal(marker_from_name(name, strlen(name) - 1), -1);
		}
	}
}

static void other_addresses_and_names_are_no_repeat_markers(void **state)
{
	static const char *const names[] = {
		"[1 frame]",
		"[unknown]",
		"[frames repeated 256-511 times]",
		"[12345 frames repeated 256-511 times]",
		"[1 frame repeated by a lot of others]",
	};

	(void)state;
	for (uint64_t marker = 0; marker < NR_MARKERS; marker++)
		assert_false(repeat_marker_is(marker));
	assert_false(repeat_marker_is(1000));
	assert_false(repeat_marker_is(repeat_marker(2, 2) | 1ull << 40));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(repeat_marker_is_name(names[i], strlen(names[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_every_length_are_found),
		cmocka_unit_test(what_is_too_short_or_too_long_is_stored),
		cmocka_unit_test(the_last_word_is_always_stored),
		cmocka_unit_test(names_differ_only_by_powers_of_two),
		cmocka_unit_test(other_addresses_and_names_are_no_repeat_markers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
