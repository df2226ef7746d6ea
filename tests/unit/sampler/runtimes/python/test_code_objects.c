/* The table of code objects: whatever a target sends, its memory is bounded. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/profile/profile.h"
#include "core/portable/pycode.h"
#include "core/profile/source.h"
#include "sampler/runtimes/python/code_objects.h"

static struct code_record *record(uint64_t id, const char *name, size_t linetable)
{
	struct code_record *r = xcalloc(1, sizeof(*r) + linetable);

	r->id = id;
	r->minor = 11;
	r->first_line = 7;
	r->linetable_size = r->linetable_copied = (uint32_t)linetable;
	r->name.size = (uint16_t)strlen(name);
	r->name.form = 1 | CODE_STRING_ASCII;
	memcpy(r->name.text, name, strlen(name));
	r->file = r->name;
	return r;
}

static bool add(struct python_codes *codes, uint64_t id, size_t linetable)
{
	struct code_record *r = record(id, "f", linetable);
	bool kept = python_codes_add(codes, 1, r, sizeof(*r) + linetable);

	free(r);
	return kept;
}

static uint64_t word(uint64_t id)
{
	return FRAME_PYTHON | id << CODE_POSITION_BITS;
}

static void a_code_object_is_known_by_its_number(void **state)
{
	struct python_codes *codes = python_codes_new(NULL);
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);

	(void)state;
	assert_true(add(codes, 5, 0));
	assert_true(python_codes_know(codes, word(5) | 77));
	assert_false(python_codes_know(codes, word(6)));
	assert_int_not_equal(python_codes_frame(codes, sink, word(5)), PROFILE_NONE);
	assert_int_equal(python_codes_frame(codes, sink, word(6)), PROFILE_NONE);
	profile_sink_free(sink);
	profile_free(p);
	python_codes_free(codes);
}

static void a_table_that_grows_too_large_is_emptied_and_says_so(void **state)
{
	struct python_codes *codes = python_codes_new(NULL);
	uint64_t id = 1;

	(void)state;
	while (add(codes, id, CODE_MAX_LINETABLE)) {
		/* a number that comes again replaces the earlier record */
		assert_true(add(codes, id, CODE_MAX_LINETABLE));
		assert_true(++id < 100000);
	}
	assert_true(id > 1000);
	assert_true(python_codes_know(codes, word(id)));
	assert_false(python_codes_know(codes, word(1)));
	python_codes_free(codes);
}

static void a_record_that_is_cut_short_is_left_alone(void **state)
{
	struct python_codes *codes = python_codes_new(NULL);
	struct code_record *r = record(9, "f", 64);

	(void)state;
	assert_true(python_codes_add(codes, 1, r, sizeof(*r) - 1));
	assert_false(python_codes_know(codes, word(9)));
	r->linetable_copied = UINT32_MAX;
	assert_true(python_codes_add(codes, 1, r, sizeof(*r) + 64));
	assert_true(python_codes_know(codes, word(9)));
	free(r);
	python_codes_free(codes);
}

static bool add_of(struct python_codes *codes, uint64_t group, uint64_t id)
{
	struct code_record *r = record(id, "f", 8);
	bool kept = python_codes_add(codes, group, r, sizeof(*r) + 8);

	free(r);
	return kept;
}

/* The number of a process that has ended may be another's before the records are forgotten. */
static void records_of_a_process_that_has_ended_are_forgotten_later(void **state)
{
	struct python_codes *codes = python_codes_new(NULL);
	uint64_t now = monotonic_ns();

	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		assert_true(add_of(codes, 7, id));
	assert_true(add_of(codes, 8, 4));
	python_codes_end(codes, 7);
	python_codes_end(codes, 9); /* of which nothing came */
	assert_true(add_of(codes, 7, 5));
	python_codes_tidy(codes, now + PYTHON_CODES_KEPT_NS - 1);
	for (uint64_t id = 1; id <= 5; id++)
		assert_true(python_codes_know(codes, word(id)));
	python_codes_tidy(codes, monotonic_ns() + PYTHON_CODES_KEPT_NS);
	for (uint64_t id = 1; id <= 5; id++)
		assert_int_equal(python_codes_know(codes, word(id)), id > 3);
	python_codes_end(codes, 7);
	assert_true(add_of(codes, 8, 5)); /* comes again, as another process's */
	python_codes_tidy(codes, UINT64_MAX);
	assert_true(python_codes_know(codes, word(5)));
	python_codes_end(codes, 8);
	python_codes_free(codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_object_is_known_by_its_number),
		cmocka_unit_test(a_table_that_grows_too_large_is_emptied_and_says_so),
		cmocka_unit_test(a_record_that_is_cut_short_is_left_alone),
		cmocka_unit_test(records_of_a_process_that_has_ended_are_forgotten_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
