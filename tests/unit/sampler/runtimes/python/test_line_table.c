/*
 * Line tables of each coding. The function is, from line 1 of its file:
 *	def f(a,
 *	      b):
 *	    x = (a +
 *	         b)
 *	    for i in x:
 *
 *	        y = i
 *	    (three empty lines)
 *	    return [q for q in x]
 * and the tables and truths are what CPython 3.8.18, 3.10.13 and 3.12.1 say of it.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "sampler/runtimes/python/line_table.h"

struct truth {
	uint32_t start, end, line; /* byte offsets; 0 = no line */
};

static uint32_t line_at(unsigned int minor, const uint8_t *table, size_t size, uint32_t first_line,
			uint32_t position)
{
	struct line_run runs[64];
	size_t nr = python_lines(minor, table, size, first_line, runs, 64);

	return python_line(runs, nr, position);
}

static void expect(unsigned int minor, const uint8_t *table, size_t size,
		   const struct truth *truths, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (uint32_t at = truths[i].start; at < truths[i].end; at += 2)
			assert_int_equal(line_at(minor, table, size, 1, at), truths[i].line);
}

static void lnotab_of_3_8_is_read(void **state)
{
	static const uint8_t table[] = { 0x00, 0x02, 0x02, 0x01, 0x02, 0xff,
					 0x04, 0x02, 0x08, 0x02, 0x06, 0x04 };
	static const struct truth truths[] = { { 0, 2, 3 },  { 2, 4, 4 },   { 4, 8, 3 },
					       { 8, 16, 5 }, { 16, 22, 7 }, { 22, 36, 11 } };

	(void)state;
	expect(8, table, sizeof(table), truths, 6);
	expect(9, table, sizeof(table), truths, 6);
}

static void linetable_of_3_10_is_read(void **state)
{
	static const uint8_t table[] = { 0x02, 0x02, 0x02, 0x01, 0x04, 0xff,
					 0x08, 0x02, 0x06, 0x02, 0x0e, 0x04 };
	static const struct truth truths[] = { { 0, 2, 3 },  { 2, 4, 4 },   { 4, 8, 3 },
					       { 8, 16, 5 }, { 16, 22, 7 }, { 22, 36, 11 },
					       { 36, 40, 0 } /* beyond the code */ };

	(void)state;
	expect(10, table, sizeof(table), truths, 7);
}

static void code_without_a_line_in_3_10_has_none(void **state)
{
	static const uint8_t table[] = { 0x02, 0x05, 0x04, 0x80, 0x02, 0x01 };
	static const struct truth truths[] = { { 0, 2, 6 }, { 2, 6, 0 }, { 6, 8, 7 } };

	(void)state;
	expect(10, table, sizeof(table), truths, 3);
}

static const uint8_t table_3_12[] = {
	0x80, 0x00, 0xe0, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf1, 0x03, 0x01, 0x0a, 0x0b, 0x80,
	0x41, 0xe0, 0x0d, 0x0e, 0xf2, 0x00, 0x02, 0x05, 0x0e, 0x88, 0x01, 0xe0, 0x0c, 0x0d,
	0x89, 0x01, 0xf0, 0x05, 0x02, 0x05, 0x0e, 0xf0, 0x0c, 0x00, 0x18, 0x19, 0x8e, 0x3e,
	0x90, 0x21, 0x8a, 0x41, 0x8a, 0x3e, 0xd0, 0x04, 0x19, 0xf9, 0x8a, 0x3e,
};

static void linetable_of_3_12_is_read(void **state)
{
	static const struct truth truths[] = {
		{ 0, 2, 1 },   { 2, 4, 3 },    { 4, 6, 4 },   { 6, 12, 3 },
		{ 12, 22, 5 }, { 22, 28, 7 },  { 28, 30, 5 }, { 30, 62, 11 },
		{ 62, 66, 0 }, { 66, 72, 11 }, { 72, 80, 0 } /* beyond the code */
	};

	(void)state;
	expect(12, table_3_12, sizeof(table_3_12), truths, 11);
	expect(15, table_3_12, sizeof(table_3_12), truths, 11);
}

static void a_cut_table_has_no_lines_beyond_the_cut(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(table_3_12); size++) {
		uint8_t *exact = malloc(size + 1);

		memcpy(exact, table_3_12, size);
		assert_int_equal(line_at(12, exact, size, 1, 66), 0);
		if (size >= 31)
			assert_int_equal(line_at(12, exact, size, 1, 24), 7);
		free(exact);
	}
}

static void lines_below_one_are_none(void **state)
{
	static const uint8_t down[] = { 0x02, 0x81, 0x02, 0x81 };

	(void)state;
	assert_int_equal(line_at(10, down, sizeof(down), 1, 0), 0);
	assert_int_equal(line_at(8, down, sizeof(down), 1, 4), 0);
}

static void runs_ascend_and_neighbours_differ(void **state)
{
	struct line_run runs[64];
	size_t nr = python_lines(12, table_3_12, sizeof(table_3_12), 1, runs, 64);

	(void)state;
	assert_int_equal(nr, 10);
	for (size_t i = 1; i < nr; i++) {
		assert_true(runs[i].end > runs[i - 1].end);
		assert_int_not_equal(runs[i].line, runs[i - 1].line);
	}
	/* what there is no room for has no line */
	assert_int_equal(python_lines(12, table_3_12, sizeof(table_3_12), 1, runs, 2), 2);
	assert_int_equal(python_line(runs, 2, 2), 3);
	assert_int_equal(python_line(runs, 2, 4), 0);
}

static void lines_that_no_file_has_end_a_table(void **state)
{
	/* entries of one code unit, each 2^58 lines further, as far as a number can say it */
	uint8_t table[40 * 12];
	struct line_run runs[64];

	(void)state;
	for (size_t i = 0; i < sizeof(table); i += 12) {
		memset(table + i, 0x7f, 12);
		table[i] = 0x80 | 13 << 3;
		table[i + 1] = 0x7e; /* positive */
		table[i + 10] = 0x3f;
		table[i + 11] = 0x80 | 15 << 3;
	}
	assert_true(python_lines(12, table, sizeof(table), 1, runs, 64) <= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab_of_3_8_is_read),
		cmocka_unit_test(linetable_of_3_10_is_read),
		cmocka_unit_test(code_without_a_line_in_3_10_has_none),
		cmocka_unit_test(linetable_of_3_12_is_read),
		cmocka_unit_test(a_cut_table_has_no_lines_beyond_the_cut),
		cmocka_unit_test(runs_ascend_and_neighbours_differ),
		cmocka_unit_test(lines_that_no_file_has_end_a_table),
		cmocka_unit_test(lines_below_one_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
