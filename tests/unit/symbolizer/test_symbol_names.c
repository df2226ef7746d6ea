/*
 * symbolizer/lookup/demangle.c and source_path.c: demangling within its limits, and paths of source
 * files.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "symbolizer/lookup/demangle.h"
#include "symbolizer/lookup/source_path.h"

static void names_are_demangled_and_versions_dropped(void **state)
{
	static const char *const cases[][2] = {
		{ "_ZN6shapes6Circle5outerEv", "shapes::Circle::outer()" },
		{ "_Z3fooi.cold", "foo(int) [clone .cold]" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "_Z3fooi@plt", "foo(int)@plt" },
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = demangle(cases[i][0]);

		assert_non_null(name);
		assert_string_equal(name, cases[i][1]);
		free(name);
	}
	assert_null(demangle("main"));
	assert_null(demangle("puts@plt"));
	assert_null(demangle("_Z"));
	assert_null(demangle(""));
}

static char *repeated(const char *start, const char *part, size_t nr, const char *end)
{
	char *s = xmalloc(strlen(start) + strlen(part) * nr + strlen(end) + 1), *at = s;

	at = stpcpy(at, start);
	while (nr--)
		at = stpcpy(at, part);
	strcpy(at, end);
	return s;
}

static void long_name_is_demangled(void **state)
{
	char *mangled = repeated("_Z1fSt4pairIi", "St4pairIi", 300, "i"), *ends, *name;

	(void)state;
	ends = repeated(mangled, "E", 301, "");
	assert_true(strlen(ends) > 2000);
	name = demangle(ends);
	assert_non_null(name);
	assert_memory_equal(name, "f(std::pair<int, std::pair<int, ", 32);
	free(name);
	free(ends);
	free(mangled);
}

/* Each pair doubles the text: 60 bytes of name stand for a billion times as much. */
static void name_that_explodes_is_left_alone(void **state)
{
	char bomb[512] = "_Z1fSt4pairIiiE", *name;
	char *huge = repeated("_Z", "1f", 40000, "");

	(void)state;
	for (int i = 0; i < 30; i++)
		sprintf(bomb + strlen(bomb), "St4pairIS%c_S%c_E", i ? '0' + i % 10 : '_',
			i ? '0' + i % 10 : '_');
	name = demangle(bomb);
	assert_true(!name || strlen(name) <= 256 * 1024);
	free(name);
	assert_null(demangle(huge));
	free(huge);
	huge = repeated("_Z", "P", 10000, "i");
	name = demangle(huge);
	free(name);
	free(huge);
}

static void source_paths_are_joined_and_tidied(void **state)
{
	static const char *const cases[][4] = {
		{ "/src", NULL, "a.c", "/src/a.c" },
		{ "/src", "lib", "a.c", "/src/lib/a.c" },
		{ "/src", "/usr/include", "a.h", "/usr/include/a.h" },
		{ "/src", "../inc/./x", "../a.h", "/inc/a.h" },
		{ "/src", "lib", "/abs/a.c", "/abs/a.c" },
		{ NULL, "../lib", "a.c", "../lib/a.c" },
		{ NULL, "..", "../a.c", "../../a.c" },
		{ NULL, "x", "../../a.c", "../a.c" },
		{ "/", "../..", "a.c", "/a.c" },
		{ ".", "a//b", "", "a/b" },
		{ "/", NULL, "..", "/" },
		{ NULL, NULL, "", "" },
		{ "./part", "./part", "a.c", "part/a.c" },
		{ "./part", "./part/sub", "a.c", "part/sub/a.c" },
		{ "./part", "./partly", "a.c", "part/partly/a.c" },
		{ "./part", "../other", "a.c", "other/a.c" },
		{ "/src", "/src", "a.c", "/src/a.c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = source_path(cases[i][0], cases[i][1], cases[i][2]);

		assert_string_equal(path, cases[i][3]);
		free(path);
	}
}

static void paths_of_one_file_are_told_from_others(void **state)
{
	(void)state;
	assert_true(source_path_same("/src/a.c", "/src/a.c"));
	assert_true(source_path_same("lib/a.c", "/src/lib/a.c"));
	assert_true(source_path_same("/src/lib/a.c", "lib/a.c"));
	assert_true(source_path_same("a.c", "lib/a.c"));
	assert_false(source_path_same("/src/a.c", "/other/a.c"));
	assert_false(source_path_same("/a.c", "/src/a.c"));
	assert_false(source_path_same("ib/a.c", "/src/lib/a.c"));
	assert_false(source_path_same("lib/b.c", "/src/lib/a.c"));
	assert_false(source_path_same("", "/src/a.c"));
}

/*
 * docs/DESIGN.md says which names LLVM's demangler reads and libiberty does not. Such a name is
 * shown as it is in the file; a libiberty that reads it must read it right.
 */
static void name_that_libiberty_does_not_know_is_left_alone(void **state)
{
	char *name = demangle("_Z1qIiEPDTcl1gfp_EET_PDtfL0p_E");

	(void)state;
	if (name)
		assert_string_equal(name,
				    "decltype (g({parm#1}))* q<int>(int, decltype ({parm#1})*)");
	free(name);
	name = demangle("_Z1qIiEPDTcl1gfp_EET_PDtfp_E"); /* the same one level further in */
	assert_string_equal(name, "decltype (g({parm#1}))* q<int>(int, decltype ({parm#1})*)");
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_demangled_and_versions_dropped),
		cmocka_unit_test(long_name_is_demangled),
		cmocka_unit_test(name_that_explodes_is_left_alone),
		cmocka_unit_test(name_that_libiberty_does_not_know_is_left_alone),
		cmocka_unit_test(source_paths_are_joined_and_tidied),
		cmocka_unit_test(paths_of_one_file_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
