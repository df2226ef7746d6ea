/* Fields of tables: no text ends its field or its line, or becomes a formula. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "core/base/buffer.h"
#include "output/text/cells.h"

static void expect(char separator, const char *text, const char *expected)
{
	struct buffer b = { 0 };

	cells_add_text(&b, separator, text);
	cells_end(&b);
	assert_string_equal(buffer_cstring(&b), expected);
	buffer_fini(&b);
}

static void texts_of_csv_are_quoted(void **state)
{
	(void)state;
	expect(',', "f(a, b)", "\"f(a, b)\"\n");
	expect(',', "say \"x\"\n", "\"say \"\"x\"\"\\u{a}\"\n");
	expect(',', "\"=1\"", "\"\"\"=1\"\"\"\n");
	expect(',', "", "\"\"\n");
}

static void no_text_becomes_a_formula(void **state)
{
	static const char *const texts[] = { "=1", "+1", "-1", "@x" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char csv[16], tsv[16];

		snprintf(csv, sizeof(csv), "\"'%s\"\n", texts[i]);
		snprintf(tsv, sizeof(tsv), "'%s\n", texts[i]);
		expect(',', texts[i], csv);
		expect('\t', texts[i], tsv);
	}
}

/* Most readers of tabs understand quotes: the text goes on up to the next one, over line ends. */
static void no_text_between_tabs_begins_with_a_quote(void **state)
{
	(void)state;
	expect('\t', "a\tb\"", "a\\u{9}b\"\n");
	expect('\t', "\"=1+1\"", "'\"=1+1\"\n");
	expect('\t', "\"", "'\"\n");
	expect('\t', "", "\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_csv_are_quoted),
		cmocka_unit_test(no_text_becomes_a_formula),
		cmocka_unit_test(no_text_between_tabs_begins_with_a_quote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
