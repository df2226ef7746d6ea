/* Names become text that is safe to show, and numbers become readable. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/base/buffer.h"
#include "output/text/number.h"
#include "output/text/text.h"

static void assert_clean(const char *in, size_t n, const char *expected)
{
	struct buffer b = { 0 };

	text_add_clean(&b, in, n);
	assert_string_equal(buffer_cstring(&b), expected);
	buffer_fini(&b);
}

#define ASSERT_CLEAN(in, expected) assert_clean(in, sizeof(in) - 1, expected)

static void what_cannot_be_seen_is_made_visible(void **state)
{
	(void)state;
	ASSERT_CLEAN("std::vector<int>::push_back(int&&)", "std::vector<int>::push_back(int&&)");
	ASSERT_CLEAN("a\nb\tc\x1b[0m", "a\\u{a}b\\u{9}c\\u{1b}[0m");
	ASSERT_CLEAN("\x7f", "\\u{7f}");
	ASSERT_CLEAN("a\0b", "a\\u{0}b");
	ASSERT_CLEAN("\xc2\x85", "\\u{85}");
	ASSERT_CLEAN("x\xe2\x80\xaey", "x\\u{202e}y");	/* right-to-left override */
	ASSERT_CLEAN("\xe2\x81\xa6z", "\\u{2066}z");	/* isolate */
	ASSERT_CLEAN("\xe2\x80\x8bz", "\\u{200b}z");	/* zero width space */
	ASSERT_CLEAN("\xe2\x80\xa8", "\\u{2028}");	/* line separator */
	ASSERT_CLEAN("\xef\xbf\xbf", "\\u{ffff}");	/* noncharacter */
	ASSERT_CLEAN("\xf3\xa0\x81\x81", "\\u{e0041}"); /* tag */
	ASSERT_CLEAN("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5", "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5");
}

static void lines_of_a_command_are_joined(void **state)
{
	struct buffer b = { 0 };

	(void)state;
	text_add_line(&b, "\npython3 -c  import os\r\n\tos.abort()\x1b \n");
	text_add_line(&b, "");
	text_add_line(&b, " \t");
	assert_string_equal(buffer_cstring(&b), "python3 -c import os os.abort()\\u{1b}");
	buffer_fini(&b);
}

static void what_is_no_utf8_is_replaced(void **state)
{
	(void)state;
	ASSERT_CLEAN("\xff", "\xef\xbf\xbd");
	ASSERT_CLEAN("a\x80z", "a\xef\xbf\xbdz");
	ASSERT_CLEAN("\xc3", "\xef\xbf\xbd");				      /* cut off */
	ASSERT_CLEAN("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");		      /* overlong */
	ASSERT_CLEAN("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	ASSERT_CLEAN("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	ASSERT_CLEAN("\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5");
}

static void formats_get_their_escapes(void **state)
{
	struct buffer b = { 0 };

	(void)state;
	text_add_xml(&b, "<a b=\"c\">&'\\\x01", 13);
	assert_string_equal(buffer_cstring(&b), "&#60;a b=&#34;c&#34;&#62;&#38;&#39;\\\\u{1}");
	b.size = 0;
	text_add_json(&b, "a\"b\\c\n<");
	assert_string_equal(buffer_cstring(&b), "\"a\\\"b\\\\c\\\\u{a}<\"");
	buffer_fini(&b);
}

static void columns_are_those_of_a_terminal(void **state)
{
	static const char s[] = "ab\xe6\x97\xa5\xe6\x9c\xac"
				/* two wide characters, and an e with a combining accent */
				"e\xcc\x81";

	(void)state;
	assert_int_equal(text_columns(s, sizeof(s) - 1), 7);
	assert_int_equal(text_head(s, sizeof(s) - 1, 3), 2);
	assert_int_equal(text_head(s, sizeof(s) - 1, 4), 5);
	assert_int_equal(text_head(s, sizeof(s) - 1, 99), sizeof(s) - 1);
	assert_int_equal(text_tail(s, sizeof(s) - 1, 1), 3);
	assert_int_equal(text_tail(s, sizeof(s) - 1, 2), 3);
	assert_int_equal(text_tail(s, sizeof(s) - 1, 3), 6);
	assert_int_equal(text_tail("", 0, 3), 0);
}

static void assert_number(void (*add)(struct buffer *, uint64_t, uint64_t), uint64_t a, uint64_t c,
			  const char *expected)
{
	struct buffer b = { 0 };

	add(&b, a, c);
	assert_string_equal(buffer_cstring(&b), expected);
	buffer_fini(&b);
}

static void add_time(struct buffer *b, uint64_t ns, uint64_t unused)
{
	(void)unused;
	number_add_time(b, ns);
}

static void shares_have_two_digits_that_mean_something(void **state)
{
	(void)state;
	assert_number(number_add_percent, 0, 10, "0%");
	assert_number(number_add_percent, 5, 0, "<0.01%");
	assert_number(number_add_percent, 1, 1000000, "<0.01%");
	assert_number(number_add_percent, 41, 10000, "0.41%");
	assert_number(number_add_percent, 994, 100000, "0.99%");
	assert_number(number_add_percent, 995, 100000, "1.0%");
	assert_number(number_add_percent, 994, 10000, "9.9%");
	assert_number(number_add_percent, 995, 10000, "10%");
	assert_number(number_add_percent, 4149, 10000, "41%");
	assert_number(number_add_percent, 10000, 10000, "100%");
	assert_number(number_add_percent, UINT64_MAX / 2, UINT64_MAX, "50%");
}

static void times_have_three_digits(void **state)
{
	(void)state;
	assert_number(add_time, 0, 0, "0 ns");
	assert_number(add_time, 999, 0, "999 ns");
	assert_number(add_time, 1000, 0, "1.00 us");
	assert_number(add_time, 999499, 0, "999 us");
	assert_number(add_time, 999600, 0, "1.00 ms");
	assert_number(add_time, 12345678, 0, "12.3 ms");
	assert_number(add_time, 4100000000, 0, "4.10 s");
	assert_number(add_time, 123456789012, 0, "123 s");
	assert_number(add_time, UINT64_MAX, 0, "18446744073 s");
}

static void margins_are_those_of_a_binomial(void **state)
{
	(void)state;
	assert_int_equal(number_margin(20, 2000), 9); /* 1% of 2000 is 1% +- 0.44% */
	assert_int_equal(number_margin(500, 1000), 31);
	assert_int_equal(number_margin(0, 1000), 0);
	assert_int_equal(number_margin(1000, 1000), 0);
	assert_int_equal(number_scale(1, 3, 2), 2);
	assert_int_equal(number_scale(7, 100, 0), 0);
	assert_int_equal(number_scale(UINT64_MAX, 1000, UINT64_MAX), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_seen_is_made_visible),
		cmocka_unit_test(lines_of_a_command_are_joined),
		cmocka_unit_test(what_is_no_utf8_is_replaced),
		cmocka_unit_test(formats_get_their_escapes),
		cmocka_unit_test(columns_are_those_of_a_terminal),
		cmocka_unit_test(shares_have_two_digits_that_mean_something),
		cmocka_unit_test(times_have_three_digits),
		cmocka_unit_test(margins_are_those_of_a_binomial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
