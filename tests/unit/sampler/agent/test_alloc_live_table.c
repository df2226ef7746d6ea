/* The table of sampled blocks, and the filter in front of it, as threads fill and empty them. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* In-target code is not part of the host's library, so it is compiled into this test. */
#include "sampler/agent/alloc/live_table.c"

#define SAME_BIT (16ull * ALLOC_NR_FILTER) /* addresses so far apart share a bit */
#define NR_THREADS 4u
#define NR_TURNS 200000u

static struct alloc_private *make(void)
{
	struct alloc_private *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	a->magic = ALLOC_MAGIC;
	a->shared = (uint64_t)(uintptr_t)calloc(1, sizeof(struct alloc_shared));
	assert_true(a->shared);
	return a;
}

static void end(struct alloc_private *a)
{
	free(alloc_shared_of(a));
	free(a);
}

/* As the stubs ask. */
static bool may_be_sampled(const struct alloc_private *a, uint64_t address)
{
	uint32_t word = __atomic_load_n(
		&a->filter[address >> ALLOC_FILTER_WORD_SHIFT & (ALLOC_NR_FILTER / 32 - 1)],
		__ATOMIC_RELAXED);

	return word >> (address >> 4 & 31) & 1;
}

static void a_bit_is_set_while_a_block_is_behind_it(void **state)
{
	const uint64_t one = 0x7f0012345670, other = one + SAME_BIT;
	struct alloc_private *a = make();

	(void)state;
	alloc_live_add(a, one, 1, 1);
	assert_true(may_be_sampled(a, one));
	assert_false(may_be_sampled(a, one + 16));
	assert_false(may_be_sampled(a, one - 16));
	alloc_live_add(a, other, 2, 2);
	assert_int_equal(alloc_live_remove(a, one), 1);
	assert_true(may_be_sampled(a, other));
	assert_int_equal(alloc_live_remove(a, other), 2);
	assert_false(may_be_sampled(a, other));
	assert_int_equal(alloc_live_remove(a, other), 0);
	end(a);
}

static void a_block_that_is_handed_out_again_is_counted_once(void **state)
{
	struct alloc_private *a = make();

	(void)state;
	alloc_live_add(a, 0x1000, 1, 1);
	alloc_live_add(a, 0x1000, 2, 1);
	assert_int_equal(alloc_shared_of(a)->nr_unseen_frees, 1);
	assert_int_equal(alloc_live_remove(a, 0x1000), 2);
	assert_false(may_be_sampled(a, 0x1000));
	end(a);
}

static void too_many_blocks_behind_a_bit_keep_it_set(void **state)
{
	struct alloc_private *a = make();

	(void)state;
	for (uint64_t i = 0; i < 300; i++)
		alloc_live_add(a, 0x1000 + i * SAME_BIT, 1 + i, 1 + i);
	assert_int_equal(alloc_shared_of(a)->nr_full, 0);
	for (uint64_t i = 0; i < 300; i++)
		assert_int_equal(alloc_live_remove(a, 0x1000 + i * SAME_BIT), 1 + i);
	assert_true(may_be_sampled(a, 0x1000));
	end(a);
}

/* A signal handler may allocate at the very moment. */
static void a_block_behind_a_bit_that_is_being_cleared_stays_out(void **state)
{
	struct alloc_private *a = make();

	(void)state;
	alloc_shared_of(a)->filter_counts[0x1000 >> 4] = BEING_CLEARED;
	alloc_live_add(a, 0x1000, 1, 1);
	assert_int_equal(alloc_shared_of(a)->nr_full, 1);
	assert_int_equal(alloc_live_remove(a, 0x1000), 0);
	end(a);
}

static void keys_of_tensors_leave_the_filter_alone(void **state)
{
	const uint64_t key = 1ull << 47 | 0x1000;
	struct alloc_private *a = make();

	(void)state;
	alloc_live_add(a, key, 7, 7);
	assert_false(may_be_sampled(a, key));
	assert_int_equal(alloc_live_remove(a, key), 7);
	end(a);
}

struct worker {
	struct alloc_private *a;
	uint64_t id, nr_in, nr_missed;
};

static void *add_and_remove(void *argument)
{
	struct worker *w = argument;

	for (uint64_t i = 0; i < NR_TURNS; i++) {
		uint64_t address = 0x10000 + i % 4 * 16 + w->id * SAME_BIT, draw = 1 + i;
		bool is_seen;

		alloc_live_add(w->a, address, draw, draw);
		is_seen = may_be_sampled(w->a, address);
		if (!alloc_live_remove(w->a, address))
			continue;
		w->nr_in++;
		w->nr_missed += !is_seen;
	}
	return NULL;
}

static void no_free_of_a_block_in_the_table_is_missed(void **state)
{
	struct alloc_private *a = make();
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	uint64_t nr_in = 0;

	(void)state;
	for (uint64_t i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ a, i, 0, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, &workers[i]), 0);
	}
	for (size_t i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].nr_missed, 0);
		nr_in += workers[i].nr_in;
	}
	assert_int_equal(nr_in + alloc_shared_of(a)->nr_full, NR_THREADS * NR_TURNS);
	assert_true(nr_in > NR_TURNS);
	for (size_t i = 0; i < ALLOC_NR_FILTER / 32; i++)
		assert_int_equal(a->filter[i], 0);
	for (size_t i = 0; i < ALLOC_NR_FILTER; i++)
		assert_int_equal(alloc_shared_of(a)->filter_counts[i], 0);
	end(a);
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(a_bit_is_set_while_a_block_is_behind_it),
		cmocka_unit_test(a_block_that_is_handed_out_again_is_counted_once),
		cmocka_unit_test(too_many_blocks_behind_a_bit_keep_it_set),
		cmocka_unit_test(a_block_behind_a_bit_that_is_being_cleared_stays_out),
		cmocka_unit_test(keys_of_tensors_leave_the_filter_alone),
		cmocka_unit_test(no_free_of_a_block_in_the_table_is_missed),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
