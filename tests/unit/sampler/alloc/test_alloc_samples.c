/* What a sampled allocation stands for, and where our memory goes. */
#include "tests/unit/unit.h"

#include <math.h>

#include "sampler/alloc/alloc_samples.h"
#include "sampler/alloc/near_gap.h"

#define GIB (1ull << 30)

/* The mean over many draws of sampled ? weight : 0, by their chance. */
static void weights_have_no_bias(void **state)
{
	static const uint64_t sizes[] = { 1, 48, 4096, 65536, 100000, 1000000 };
	const uint64_t interval = 65536;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double chance = 1 - exp(-(double)sizes[i] / (double)interval), bytes = 0, count = 0;
		const int nr = 100000;

		for (int n = 1; n <= nr; n++) {
			struct alloc_weight w = alloc_weight_of(sizes[i], interval, (uint64_t)n);

			bytes += (double)w.bytes * chance;
			count += (double)w.count * chance;
		}
		assert_true(fabs(bytes / nr / (double)sizes[i] - 1) < 0.005);
		assert_true(fabs(count / nr - 1) < 0.005);
	}
}

static void a_large_block_stands_for_itself(void **state)
{
	struct alloc_weight w = alloc_weight_of(100 * GIB, 65536, 1);

	(void)state;
	assert_int_equal(w.bytes, 100 * GIB);
	assert_int_equal(w.count, 1);
}

static void a_gap_is_within_reach_and_free(void **state)
{
	const struct address_range used[] = {
		{ 0x555500000000, 0x555500100000 },
		{ 0x7f0000000000, 0x7f0000200000 },
		{ 0x7f0010000000, 0x7f0010200000 },
	};
	const uint64_t low = 0x7f0010001000, high = 0x7f0010002000, size = 1 << 20;
	uint64_t at = near_gap_choose(used, 3, low, high, size);

	(void)state;
	assert_true(at);
	assert_int_equal(at & 0xffff, 0);
	assert_true(at > low ? at - low < 2 * GIB : low - at < 2 * GIB);
	for (size_t i = 0; i < 3; i++)
		assert_true(at + size <= used[i].start || at >= used[i].end);
}

static void no_gap_within_reach_is_no_gap(void **state)
{
	const struct address_range used[] = { { 0x100000, 0x7f0000000000 } };

	(void)state;
	assert_int_equal(near_gap_choose(used, 1, 0x100000000000, 0x100000001000, 1 << 20), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_have_no_bias),
		cmocka_unit_test(a_large_block_stands_for_itself),
		cmocka_unit_test(a_gap_is_within_reach_and_free),
		cmocka_unit_test(no_gap_within_reach_is_no_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
