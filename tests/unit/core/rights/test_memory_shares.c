/* core/rights/memory_shares.c: what a recorder with a limit may use for what. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/rights/memory_shares.h"

#define MB (1ull << 20)

static void shares_and_rows_add_up_to_the_limit(void **state)
{
	struct memory_shares s;

	(void)state;
	for (uint64_t limit = MEMORY_SHARES_MIN; limit < 4096 * MB; limit += 17 * MB) {
		uint64_t fixed = limit / 5, rows;

		memory_shares_of(limit, &s);
		rows = memory_shares_rows(&s, fixed);
		assert_true(rows);
		assert_int_equal(s.parser + s.namer + s.vocabulary + s.working + fixed + rows,
				 limit);
		assert_true(s.ring_bytes <= limit / 12 && s.ring_bytes >= MB);
		assert_false(s.ring_bytes & (s.ring_bytes - 1));
	}
}

static void nothing_is_left_where_more_is_used_than_the_limit(void **state)
{
	struct memory_shares s;

	(void)state;
	memory_shares_of(60 * MB, &s);
	assert_int_equal(memory_shares_rows(&s, 60 * MB), 0);
	assert_int_equal(memory_shares_rows(&s, UINT64_MAX / 2), 0);
}

static void own_memory_grows_with_what_is_allocated(void **state)
{
	uint64_t own = memory_own_bytes(), data = memory_data_bytes();
	char *block;

	(void)state;
	assert_true(own && data);
	block = malloc(64 * MB);
	assert_non_null(block);
	memset(block, 1, 32 * MB);
	assert_true(memory_own_bytes() >= own + 31 * MB);
	assert_true(memory_data_bytes() >= data + 63 * MB);
	assert_int_equal(block[MB], 1);
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_and_rows_add_up_to_the_limit),
		cmocka_unit_test(nothing_is_left_where_more_is_used_than_the_limit),
		cmocka_unit_test(own_memory_grows_with_what_is_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
