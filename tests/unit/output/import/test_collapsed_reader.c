/*
 * Reads collapsed stacks in the forms that real tools write.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/importer.h"

static int read_bytes(const char *text, size_t size, struct profile **ret_profile)
{
	FILE *f = fmemopen((void *)text, size, "r");
	int err;

	assert_non_null(f);
	err = import_collapsed.read(f, "text", &(struct import_opts){ 0 }, ret_profile);
	fclose(f);
	return err;
}

static struct profile *read_text(const char *text)
{
	struct profile *p = NULL;

	assert_int_equal(read_bytes(text, strlen(text), &p), 0);
	return p;
}

static const struct profile_function *function_at(const struct profile *p, size_t sample,
						  uint32_t i)
{
	const struct profile_stack *s = &p->stacks[p->samples[sample].stack];

	assert_true(i < s->nr_frames);
	return &p->functions
			[p->locations[p->frames[p->stack_frames[s->first_frame + i]].first_location]
				 .function];
}

static void assert_stack(const struct profile *p, size_t sample, const char *expected)
{
	char path[256] = "";

	for (uint32_t i = 0; i < p->stacks[p->samples[sample].stack].nr_frames; i++) {
		size_t at = strlen(path);

		snprintf(path + at, sizeof(path) - at, "%s|",
			 profile_str(p, function_at(p, sample, i)->name));
	}
	assert_string_equal(path, expected);
}

static void the_last_space_cuts_off_the_count(void **state)
{
	struct profile *p = read_text("main;operator new(unsigned long);f 12\n");

	(void)state;
	assert_int_equal(p->nr_samples, 1);
	assert_int_equal(p->samples[0].weight, 12);
	assert_int_equal(p->samples[0].column, COLUMN_COUNT);
	assert_int_equal(p->samples[0].thread, PROFILE_NONE);
	assert_stack(p, 0, "main|operator new(unsigned long)|f|");
	assert_int_equal(p->stats.nr_samples, 12);
	profile_free(p);
}

/*
 * Python functions as sprof and py-spy write them are recognised; names that only look similar are
 * not.
 */
static void python_functions_are_told_by_their_place(void **state)
{
	static const struct {
		const char *name, *file, *bare;
		uint32_t line;
	} cases[] = {
		{ "train (train.py:15)", "train.py", "train", 15 },
		{ "Model.f.<locals>.g (pkg/model.py:7)", "pkg/model.py", "Model.f.<locals>.g", 7 },
		{ "<module> (<string>:1)", "<string>", "<module>", 1 },
		{ "_find (<frozen importlib._bootstrap>:1176)", "<frozen importlib._bootstrap>",
		  "_find", 1176 },
		{ "f (g) (x.py:3)", "x.py", "f (g)", 3 },
		{ "main (main.c:15)", "", "main (main.c:15)", 0 },
		{ "f(x.py:15)", "", "f(x.py:15)", 0 },
		{ "f (x.py:)", "", "f (x.py:)", 0 },
		{ "f (x.py:1a)", "", "f (x.py:1a)", 0 },
		{ "f (.py:1)", "", "f (.py:1)", 0 },
		{ "f (x.py:1234567890)", "", "f (x.py:1234567890)", 0 },
		{ " (x.py:15)", "", " (x.py:15)", 0 },
		{ "(x.py:15)", "", "(x.py:15)", 0 },
		{ "f :15)", "", "f :15)", 0 },
		{ "f (<:15)", "", "f (<:15)", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128];
		const struct profile_function *f;
		struct profile *p;

		snprintf(text, sizeof(text), "root;%s 3\n", cases[i].name);
		p = read_text(text);
		f = function_at(p, 0, 1);
		assert_string_equal(profile_str(p, f->name), cases[i].name);
		assert_int_equal(f->kind, cases[i].line ? FUNCTION_PYTHON : FUNCTION_NATIVE);
		assert_string_equal(profile_str(p, f->file), cases[i].file);
		assert_string_equal(profile_str(p, f->system_name), cases[i].bare);
		assert_int_equal(f->start_line, cases[i].line);
		profile_free(p);
	}
}

static void counts_may_have_fractions(void **state)
{
	struct profile *p = read_text("a 1.4\nb 2.5\nc 3.\nd 0.2\n");

	(void)state;
	assert_int_equal(p->nr_samples, 3);
	assert_int_equal(p->samples[0].weight, 1);
	assert_int_equal(p->samples[1].weight, 3);
	assert_int_equal(p->samples[2].weight, 3);
	profile_free(p);
}

static void marks_say_the_kind(void **state)
{
	static const struct {
		const char *name;
		enum function_kind kind;
		bool inlined;
	} expected[] = {
		{ "sys_read", FUNCTION_KERNEL, false },
		{ "jitted", FUNCTION_JIT, false },
		{ "kern", FUNCTION_GPU, false },
		{ "inl", FUNCTION_NATIVE, true },
		{ "inl", FUNCTION_NATIVE, false },
		{ "[unknown]", FUNCTION_UNKNOWN, false },
		{ "[no unwind rule]", FUNCTION_MARKER, false },
		{ "_[k]", FUNCTION_UNKNOWN, false }, /* a suffix alone is a name */
	};
	struct profile *p = read_text(
		"sys_read_[k];jitted_[j];kern_[g];inl_[i];inl;[unknown];[no unwind rule];_[k] 1\n");

	(void)state;
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(*expected) - 1; i++) {
		uint32_t frame = p->stack_frames[p->stacks[0].first_frame + i];

		assert_string_equal(profile_str(p, function_at(p, 0, i)->name), expected[i].name);
		assert_int_equal(function_at(p, 0, i)->kind, expected[i].kind);
		assert_int_equal(p->locations[p->frames[frame].first_location].inlined,
				 expected[i].inlined);
	}
	assert_string_equal(profile_str(p, function_at(p, 0, 7)->name), "_[k]");
	profile_free(p);
}

static void line_ends_comments_and_blank_lines_do_not_count(void **state)
{
	struct profile *p = read_text("# a comment 5\n\na;b 1\r\n\r\n  \na;c 2 \na;d 3");

	(void)state;
	assert_int_equal(p->nr_samples, 3);
	assert_stack(p, 0, "a|b|");
	assert_stack(p, 1, "a|c|");
	assert_stack(p, 2, "a|d|");
	profile_free(p);
}

static void names_may_be_empty_or_no_utf8(void **state)
{
	struct profile *p = read_text(";a;;\xff\xfe; 4\n");

	(void)state;
	assert_stack(p, 0, "|a||\xff\xfe||");
	profile_free(p);
}

/* Frames are reused from the line before: every way in which two lines can differ. */
static void lines_that_begin_alike_keep_their_own_frames(void **state)
{
	struct profile *p = read_text("a;b;c 1\na;b;cc 1\na;b 1\na;bc;d 1\na;bc 1\na 1\nab;b 1\n"
				      "ab;b;c 1\na;b;c 1\n");

	(void)state;
	assert_stack(p, 0, "a|b|c|");
	assert_stack(p, 1, "a|b|cc|");
	assert_stack(p, 2, "a|b|");
	assert_stack(p, 3, "a|bc|d|");
	assert_stack(p, 4, "a|bc|");
	assert_stack(p, 5, "a|");
	assert_stack(p, 6, "ab|b|");
	assert_stack(p, 7, "ab|b|c|");
	assert_stack(p, 8, "a|b|c|");
	profile_free(p);
}

static void bad_lines_are_left_out(void **state)
{
	static const char text[] = "no count\na;b x\n 7\na;b -1\na;\0b 3\ngood 2\n"
				   "huge 99999999999999999999\na 1e3\n"
				   "good 1\ngood 1\ngood 1\ngood 1\ngood 1\ngood 1\n";
	struct profile *p;

	(void)state;
	assert_int_equal(read_bytes(text, sizeof(text) - 1, &p), 0);
	assert_int_equal(p->nr_samples, 7);
	assert_stack(p, 0, "good|");
	profile_free(p);
}

static void a_text_of_mostly_bad_lines_is_an_error(void **state)
{
	static const char text[] = "x\ny\nz\na;b 3\n";
	struct profile *p = NULL;

	(void)state;
	assert_int_equal(read_bytes(text, sizeof(text) - 1, &p), -EINVAL);
	assert_null(p);
}

static void a_text_without_any_stack_is_an_error(void **state)
{
	struct profile *p = NULL;

	(void)state;
	assert_int_equal(read_bytes("hello world\n", 12, &p), -EINVAL);
	assert_int_equal(read_bytes("\n", 1, &p), -EINVAL);
	assert_null(p);
}

static void a_line_of_fifteen_megabytes_is_read_and_one_of_twenty_is_not(void **state)
{
	enum { SIZE = 36 * 1024 * 1024, GOOD = 15 * 1024 * 1024, BAD = 20 * 1024 * 1024 };
	char *text = xmalloc(SIZE);
	struct profile *p;
	size_t at = 0;

	(void)state;
	memset(text, 'x', SIZE);
	memcpy(text + GOOD - 4, " 11\n", 4);
	at = GOOD + BAD;
	memcpy(text + at - 4, " 22\n", 4);
	memcpy(text + at, "y 3\n", 4);
	assert_int_equal(read_bytes(text, at + 4, &p), 0);
	assert_int_equal(p->nr_samples, 2);
	assert_int_equal(p->samples[0].weight, 11);
	assert_int_equal(p->samples[1].weight, 3);
	assert_stack(p, 1, "y|");
	profile_free(p);
	free(text);
}

static void assert_stack_is(const struct profile *p, size_t sample, const char *text, size_t size)
{
	const char *at = text, *end = text + size;

	for (uint32_t i = 0; i < p->stacks[p->samples[sample].stack].nr_frames; i++) {
		const char *name = profile_str(p, function_at(p, sample, i)->name);

		assert_true(at <= end);
		assert_true((size_t)(end - at) >= strlen(name) && !memcmp(at, name, strlen(name)));
		at += strlen(name);
		assert_true(at == end || *at == ';');
		at++;
	}
	assert_true(at == end + 1);
}

/*
 * Lines of short names, of long ones, and of so many different ones that look-ups are put off, with
 * ends of names at all places.
 */
static void names_of_all_lengths_are_told_apart(void **state)
{
	enum { LINES = 30000 }; /* of at most 20 names of 20 bytes */
	static const unsigned lengths[] = { 6, 12, 20 }, letters[] = { 2, 2, 26 };
	char *text = xmalloc((size_t)LINES * 500);
	size_t *lines = xcalloc(LINES + 1, sizeof(*lines)), size = 0;
	struct profile *p;
	uint64_t rng = 5;

	(void)state;
	for (size_t i = 0; i < LINES; i++) {
		unsigned kind = i < LINES / 3 ? 0 : i < LINES * 2 / 3 ? 2 : 1;

		text[size++] = 'r';
		for (unsigned nr = (unsigned)(i % 20); nr; nr--) {
			rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407u;
			text[size++] = ';';
			for (unsigned n = (unsigned)(rng >> 40) % (lengths[kind] + 1); n; n--) {
				rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407u;
				text[size++] = (char)('a' + (rng >> 40) % letters[kind]);
			}
		}
		memcpy(text + size, " 1\n", 3);
		lines[i + 1] = size += 3;
	}
	assert_int_equal(read_bytes(text, size, &p), 0);
	assert_int_equal(p->nr_samples, LINES);
	for (size_t i = 0; i < LINES; i++)
		assert_stack_is(p, i, text + lines[i], lines[i + 1] - lines[i] - 3);
	profile_free(p);
	free(lines);
	free(text);
}

static bool looks_folded(const char *text)
{
	return import_collapsed.is(text, strlen(text));
}

static void content_tells_collapsed_stacks(void **state)
{
	(void)state;
	assert_true(looks_folded("a;b;c 12\n"));
	assert_true(looks_folded("main 1"));
	assert_true(looks_folded("# comment\n\nmain;x 3\r\n"));
	assert_true(looks_folded("a;b;long line whose count was not read y"));
	assert_false(looks_folded("#!/bin/sh\necho hello\n"));
	assert_false(import_collapsed.is("\x7f"
					 "ELF;x 1\n\0",
					 10));
	assert_false(import_collapsed.is("a;b 1\n\0", 7));
	assert_false(import_collapsed.is("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_space_cuts_off_the_count),
		cmocka_unit_test(python_functions_are_told_by_their_place),
		cmocka_unit_test(counts_may_have_fractions),
		cmocka_unit_test(marks_say_the_kind),
		cmocka_unit_test(line_ends_comments_and_blank_lines_do_not_count),
		cmocka_unit_test(names_may_be_empty_or_no_utf8),
		cmocka_unit_test(lines_that_begin_alike_keep_their_own_frames),
		cmocka_unit_test(names_of_all_lengths_are_told_apart),
		cmocka_unit_test(bad_lines_are_left_out),
		cmocka_unit_test(a_text_of_mostly_bad_lines_is_an_error),
		cmocka_unit_test(a_text_without_any_stack_is_an_error),
		cmocka_unit_test(a_line_of_fifteen_megabytes_is_read_and_one_of_twenty_is_not),
		cmocka_unit_test(content_tells_collapsed_stacks),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
