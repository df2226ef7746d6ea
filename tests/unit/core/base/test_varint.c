/* core/base/varint.h: numbers of every length, cut off and too long. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/base/varint.h"

static void every_length_comes_back(void **state)
{
	(void)state;
	for (int bits = 0; bits <= 64; bits++) {
		uint64_t low = bits ? 1ull << (bits - 1) : 0, read;
		uint64_t values[] = { low, low + 1, 2 * low - 1 };

		for (int i = 0; i < 3; i++) {
			uint8_t bytes[VARINT_MAX];
			size_t n = varint_encode(bytes, values[i]);
			const uint8_t *at = bytes;

			assert_true(varint_decode(&at, bytes + n, &read));
			assert_true(read == values[i]);
			assert_ptr_equal(at, bytes + n);
			at = bytes;
			assert_false(varint_decode(&at, bytes + n - 1, &read));
			assert_ptr_equal(at, bytes);
		}
	}
}

static void more_than_64_bits_are_refused(void **state)
{
	uint8_t bytes[11];
	const uint8_t *at = bytes;
	uint64_t read = 5;

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	bytes[9] = 2;
	assert_false(varint_decode(&at, bytes + 11, &read));
	bytes[9] = 0x81;
	bytes[10] = 0;
	assert_false(varint_decode(&at, bytes + 11, &read));
	assert_int_equal(read, 5);
	bytes[9] = 1;
	assert_true(varint_decode(&at, bytes + 11, &read));
	assert_true(read == UINT64_MAX);
}

static void zigzag_keeps_small_numbers_small(void **state)
{
	const int64_t values[] = { 0, -1, 1, -2, INT64_MAX, INT64_MIN };
	const uint64_t codes[] = { 0, 1, 2, 3, UINT64_MAX - 1, UINT64_MAX };

	(void)state;
	for (int i = 0; i < 6; i++) {
		assert_true(zigzag_encode(values[i]) == codes[i]);
		assert_true(zigzag_decode(codes[i]) == values[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_comes_back),
		cmocka_unit_test(more_than_64_bits_are_refused),
		cmocka_unit_test(zigzag_keeps_small_numbers_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
