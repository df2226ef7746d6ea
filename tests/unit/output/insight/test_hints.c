/* The rules of hints are consistent, and hints know threads and times if a recording has them. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/profile/profile.h"
#include "output/insight/hint_rules.h"
#include "output/insight/hints.h"
#include "output/select/pattern.h"

static void every_rule_is_whole_and_every_pattern_compiles(void **state)
{
	uint32_t marks = 0;
	int nr = 0;

	(void)state;
	for (const struct hint_mark *m = hint_marks; m->bit; m++) {
		struct pattern pattern;
		char why[128] = "";

		marks |= m->bit;
		assert_int_equal(pattern_init(&pattern, m->pattern, why, sizeof(why)), 0);
		pattern_fini(&pattern);
	}
	for (const struct hint_rule *r = hint_rules; r->code; r++, nr++) {
		assert_true(*r->title && *r->remedy && r->columns && r->inner && r->min_percent);
		assert_int_equal((r->outer | r->inner | r->without) & ~marks, 0);
	}
	assert_in_range(nr, 1, 16);
}

static void add(struct profile *p, uint32_t thread, uint64_t ms, const char *const *names, int nr)
{
	uint32_t frames[4];

	for (int i = 0; i < nr; i++)
		frames[i] = profile_named_frame(p, names[i], strlen(names[i]), FUNCTION_PYTHON);
	profile_add_sample(p, &(struct profile_sample){
				      .time_ns = p->meta.start_ns + ms * 1000000,
				      .weight = 1000000,
				      .thread = thread,
				      .stack = profile_stack(p, frames, (size_t)nr),
				      .column = COLUMN_WALL,
			      });
}

/*
 * One thread waits for half of its time. Beside nine threads that only sleep, that is a twentieth
 * of all time.
 */
static void waiting_is_a_share_of_the_thread_that_waits(void **state)
{
	static const char *const wait[] = { "train (t.py:1)", "_get_data (dataloader.py:9)" };
	static const char *const import[] = { "train (t.py:1)",
					      "_find_and_load (<frozen importlib._bootstrap>:7)" };
	struct profile *p = profile_new();
	uint32_t comm = profile_cstring(p, "python");
	struct hints hints;

	(void)state;
	p->meta.start_ns = 5000000000;
	for (uint64_t ms = 0; ms < 1000; ms++) {
		uint32_t thread = profile_thread(p, 1, (uint32_t)(ms % 10) + 1, comm);

		if (thread == 0 && ms % 20)
			add(p, thread, ms, wait, 2);
		else
			add(p, thread, ms, import, ms < 400 ? 2 : 1);
	}
	hints_init(&hints, p);
	assert_int_equal(hints.nr, 2);
	assert_string_equal(hints.list[0].code, "data-wait");
	assert_int_equal(hints.list[0].samples, 50);
	assert_int_equal(hints.list[0].whole_samples, 100);
	assert_string_equal(hints.list[0].where, "train (t.py:1)");
	assert_int_equal(hints.list[0].last_ms, 0);
	assert_string_equal(hints.list[1].code, "imports");
	assert_int_equal(hints.list[1].whole_samples, 1000);
	assert_int_equal(hints.list[1].last_ms, 400);
	hints_fini(&hints);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_is_whole_and_every_pattern_compiles),
		cmocka_unit_test(waiting_is_a_share_of_the_thread_that_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
