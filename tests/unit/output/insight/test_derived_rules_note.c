/* The line that says which files' unwind rules were derived from machine code. */
#include "tests/unit/recording.h"

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "output/insight/derived_rules_note.h"

struct file {
	const char *path;
	uint64_t functions;
};

static void note_is(const struct file *files, size_t nr, size_t columns, const char *text)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink_new(p);
	struct buffer b = { 0 };

	for (size_t i = 0; i < nr; i++) {
		const struct fact_derived_rules row = { record_string(s, files[i].path),
							files[i].functions };

		s->fact(s, FACT_DERIVED_RULES, &row);
	}
	derived_rules_note_add(&b, p, columns);
	buffer_add_char(&b, '\0');
	assert_string_equal(b.data, text);
	buffer_fini(&b);
	profile_sink_free(s);
	profile_free(p);
}

#define HEAD "\nUnwind rules read from machine code: "

static void files_with_most_functions_come_first(void **state)
{
	const struct file files[] = {
		{ "/usr/lib/libc.so.6", 2 }, { "/x/libtorch_cpu.so", 1626 }, { "[jit]", 14 },
		{ "/usr/lib/libz.so", 2 },   { "/usr/bin/e\033vil", 3 },
	};

	(void)state;
	note_is(files, 0, 0, "");
	note_is(files, 1, 80, HEAD "libc.so.6 (2 functions)\n");
	note_is(files, 3, 0, HEAD "libtorch_cpu.so (1626 functions), [jit] (14), libc.so.6 (2)\n");
	note_is(files, 5, 0,
		HEAD
		"libtorch_cpu.so (1626 functions), [jit] (14), e\\u{1b}vil (3), 2 files more\n");
}

static void what_does_not_fit_is_counted(void **state)
{
	const struct file files[] = { { "a", 3 }, { "bbbbbbbbbbbbbbbbbbbbbbbbb", 2 }, { "c", 1 } };

	(void)state;
	note_is(files, 3, 20, HEAD "a (3 functions), 2 files more\n");
	note_is(files, 2, 60, HEAD "a (3 functions), 1 file more\n");
	note_is(files, 2, 90, HEAD "a (3 functions), bbbbbbbbbbbbbbbbbbbbbbbbb (2)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_with_most_functions_come_first),
		cmocka_unit_test(what_does_not_fit_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
