/* What a sampled allocation stands for, and where our memory goes. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "sampler/alloc/alloc_samples.h"
#include "sampler/alloc/alloc_target.h"
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

/* Of a target whose ring holds `head` words, the first of them `first`, what is said to be lost. */
static void lost_in_ring(uint64_t head, uint64_t first, bool over, uint64_t lost, bool more)
{
	struct profile *p = profile_new();
	struct alloc_target t = {
		.pid = 7,
		.samples = alloc_samples_new(),
		.shared = xcalloc(1, sizeof(*t.shared)),
	};
	struct sink *sink = profile_sink_new(p);
	const struct fact_memory_sampled *rows;
	size_t nr;

	t.shared->ring.head = head;
	t.shared->words[0] = first;
	alloc_samples_drain(&t, sink);
	if (over)
		alloc_samples_finish(&t, 1, sink);
	alloc_samples_tell(&t, sink);
	rows = facts_rows(p, FACT_MEMORY_SAMPLED, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].lost, lost);
	assert_int_equal(rows[0].lost_more != 0, more);
	assert_int_equal(alloc_samples_lost_more(&t), more);
	profile_sink_free(sink);
	alloc_samples_free(t.samples);
	free(t.shared);
	profile_free(p);
}

static void nobody_knows_what_an_unfinished_record_hides(void **state)
{
	(void)state;
	lost_in_ring(0, 0, true, 0, false);
	lost_in_ring(100, 0, false, 0, false); /* it may still be finished */
	lost_in_ring(100, 0, true, 1, true);
	lost_in_ring(100, ring_header(0, 100), true, 1, false); /* its size is known */
	lost_in_ring(1ull << 40, 0, false, 1, true);		/* nonsense */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_have_no_bias),
		cmocka_unit_test(a_large_block_stands_for_itself),
		cmocka_unit_test(a_gap_is_within_reach_and_free),
		cmocka_unit_test(no_gap_within_reach_is_no_gap),
		cmocka_unit_test(nobody_knows_what_an_unfinished_record_hides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
