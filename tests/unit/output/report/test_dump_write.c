/*
 * Lines of a dump on terminals of every width: the line number and the function's own name are
 * always shown.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "output/report/dump_write.h"
#include "output/text/text.h"

#define MAP "std::_Rb_tree<int, std::pair<int const, std::string>, std::less<int>>"

struct function {
	const char *name, *file;
	uint32_t line;
	uint8_t kind;
	bool inlined;
};

static const struct function insert = {
	.name = MAP "::_M_insert_unique(std::pair<int const, std::string>&&)",
	.file = "/usr/include/c++/12/bits/stl_tree.h",
	.line = 2441,
	.kind = FUNCTION_NATIVE,
	.inlined = true,
};
static const struct function forward = {
	.name = "forward (/srv/app/site-packages/model/layers.py:10)",
	.file = "/srv/app/site-packages/model/layers.py",
	.line = 27,
	.kind = FUNCTION_PYTHON,
};

/* The line of a stack of one frame, without its indentation; the caller frees it. */
static char *dump_of(const struct function *f, const struct dump_write_opts *opts)
{
	struct profile *p = profile_new();
	uint32_t frame = profile_named_frame(p, "x", 1, f->kind);
	const struct profile_function function = {
		.name = profile_cstring(p, f->name),
		.system_name = profile_cstring(p, f->name),
		.file = profile_cstring(p, f->file),
		.module = PROFILE_NONE,
		.kind = f->kind,
	};
	const struct profile_location location = {
		.function = profile_function(p, &function),
		.line = f->line,
		.inlined = f->inlined,
	};
	struct dump_row row = { .profile = p, .name = "t", .doing = "running", .has_stack = true };
	struct buffer b = { 0 };
	char *text;

	profile_set_locations(p, frame, &location, 1);
	row.stack = profile_stack(p, &frame, 1);
	dump_write_row(&b, &row, opts);
	text = strdup(strstr(buffer_cstring(&b), "\n    ") + 5);
	*strchr(text, '\n') = '\0';
	buffer_fini(&b);
	profile_free(p);
	return text;
}

static void assert_dump(const struct function *f, size_t columns, bool python_only,
			const char *expected)
{
	char *line = dump_of(f, &(struct dump_write_opts){
					.python_only = python_only,
					.unicode = columns % 2 == 0,
					.columns = columns,
				});

	assert_string_equal(line, expected);
	free(line);
}

static void what_does_not_fit_is_cut_around_the_functions_own_name(void **state)
{
	(void)state;
	assert_dump(&insert, 0, false,
		    "std::_Rb_tree<int, std::pair<int const, std::string>, "
		    "std::less<int>>::_M_insert_unique(std::pair<int const, std::string>&&) "
		    "(stl_tree.h:2441) inlined");
	assert_dump(&insert, 130, false,
		    "std::_Rb_tree<int, std::pair<int const, std::string>, "
		    "std::less<int>>::_M_insert_unique(std::pair<i… (stl_tree.h:2441) inlined");
	assert_dump(&insert, 80, false,
		    "std::_Rb_tree<…>::_M_insert_unique(std::pair<int … (stl_tree.h:2441) inlined");
	assert_dump(&insert, 61, false,
		    "std::_R~e<~>::_M_insert_unique~ (stl_tree.h:2441) inlined");
	assert_dump(&insert, 44, false, "_M_inse…unique (stl_tree.h:2441) inlined");
}

static void of_a_path_the_end_is_kept(void **state)
{
	(void)state;
	assert_dump(&forward, 80, true, "forward (/srv/app/site-packages/model/layers.py:27)");
	assert_dump(&forward, 80, false, "forward (layers.py:27)");
	assert_dump(&forward, 40, true, "forward (…ckages/model/layers.py:27)");
	assert_dump(&forward, 31, true, "forward (~del/layers.py:27)");
}

/* Names and files of any length on terminals of any width. */
static void the_line_number_is_always_there_and_nothing_is_too_wide(void **state)
{
	char name[300], file[300];

	(void)state;
	for (size_t n = 1; n < sizeof(name); n += 37) {
		for (size_t m = 1; m < sizeof(file); m += 37) {
			struct function f = { name, file, 12345, FUNCTION_NATIVE, true };

			memset(name, 'n', n);
			memset(file, 'f', m);
			if (n > 10)
				memcpy(name + n / 2, "<\xc3\xa9>::", 6);
			name[n] = file[m] = '\0';
			for (size_t columns = 1; columns < 200; columns++) {
				const struct dump_write_opts opts = { .columns = columns,
								      .unicode = columns % 3 };
				char *line = dump_of(&f, &opts);

				assert_non_null(strstr(line, ":12345) inlined"));
				if (columns > 30)
					assert_true(text_columns(line, strlen(line)) + 4 <=
						    columns);
				free(line);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_is_cut_around_the_functions_own_name),
		cmocka_unit_test(of_a_path_the_end_is_kept),
		cmocka_unit_test(the_line_number_is_always_there_and_nothing_is_too_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
