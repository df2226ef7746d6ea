/* What a range of time changed in the memory of tensors, beside adding it up block by block. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "core/profile/facts.h"
#include "core/profile/live_blocks.h"
#include "core/profile/profile.h"
#include "core/profile/process_end.h"
#include "output/insight/range_memory.h"

#define NR_BLOCKS 120u
#define SPAN 300u

static uint32_t random_below(uint32_t below)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 32) % below;
}

struct block {
	uint64_t pid, from, to; /* to: 0 = not freed */
	uint64_t bytes;
};

static void add(struct profile *p, enum profile_column column, uint32_t thread, uint32_t stack,
		uint64_t time_ns, uint64_t weight)
{
	profile_add_sample(p, &(struct profile_sample){
				      .time_ns = time_ns,
				      .weight = weight,
				      .thread = thread,
				      .stack = stack,
				      .column = (uint8_t)column,
			      });
}

static struct profile *make(struct block *blocks)
{
	const struct fact_tensor_memory fact = { .pid = 7, .device = 1, .interval = 1 };
	struct profile *p = profile_new();

	facts_put(p, FACT_TENSOR_MEMORY, &fact);
	for (uint32_t i = 0; i < NR_BLOCKS; i++) {
		struct block *b = &blocks[i];
		uint32_t frame = profile_named_frame(p, "fn", 2, FUNCTION_NATIVE);
		uint32_t stack = profile_stack(p, &frame, 1), thread;

		/* A thread for each block: blocks of one thread, stack and time would be one. */
		b->pid = 7 + i % 2;
		thread = profile_thread(p, (uint32_t)b->pid, 100 + i, profile_cstring(p, "t"));
		b->from = 1 + random_below(SPAN);
		b->to = random_below(3) ? b->from + 1 + random_below(SPAN / 4) : 0;
		b->bytes = 1 + random_below(1u << 20);
		add(p, COLUMN_GPU_ALLOCATED, thread, stack, b->from, b->bytes);
		add(p, COLUMN_CPU_ALLOCATED, thread, stack, b->from, 1u << 30); /* not a GPU's */
		if (b->to)
			add(p, COLUMN_LIFETIME, thread, stack, b->to, b->to - b->from);
	}
	return p;
}

static int64_t level(const struct block *blocks, uint64_t pid, uint64_t at)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		if (blocks[i].pid == pid && blocks[i].from <= at &&
		    (!blocks[i].to || blocks[i].to > at))
			sum += (int64_t)blocks[i].bytes;
	return sum;
}

/*
 * Within one moment allocations come before frees, so the peak of a moment is what was live before
 * it with all that is allocated in it.
 */
static int64_t highest(const struct block *blocks, uint64_t pid, uint64_t at)
{
	int64_t sum = level(blocks, pid, at - 1);

	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		if (blocks[i].pid == pid && blocks[i].from == at)
			sum += (int64_t)blocks[i].bytes;
	return sum;
}

static void ranges_agree_with_adding_up_blocks(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct block blocks[NR_BLOCKS];
		struct profile *p = make(blocks);
		struct range_memory *m = range_memory_new(p);

		assert_non_null(m);
		for (int i = 0; i < 300; i++) {
			uint64_t pid = 7 + random_below(3), from = random_below(SPAN + 20);
			uint64_t to = from + random_below(SPAN), peak;
			int64_t net, before = level(blocks, pid, from), most = before;

			for (uint64_t at = from + 1; at <= to; at++) {
				int64_t is = highest(blocks, pid, at);

				most = is > most ? is : most;
			}
			range_memory_of(m, pid, from, to, &net, &peak);
			assert_int_equal(net, level(blocks, pid, to) - before);
			assert_int_equal(peak, most - before);
		}
		range_memory_free(m);
		profile_free(p);
	}
}

static void a_profile_without_tensors_has_no_such_memory(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_null(range_memory_new(p));
	profile_free(p);
	range_memory_free(NULL);
}

/* A range that ends before it starts, as a damaged recording may say. */
static void impossible_ranges_change_nothing(void **state)
{
	struct block blocks[NR_BLOCKS];
	struct profile *p = make(blocks);
	struct range_memory *m = range_memory_new(p);
	uint64_t peak;
	int64_t net;

	(void)state;
	range_memory_of(m, 7, 200, 100, &net, &peak);
	assert_int_equal(net, 0);
	assert_int_equal(peak, 0);
	range_memory_of(m, 7, UINT64_MAX, 3, &net, &peak);
	assert_int_equal(net, 0);
	range_memory_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_agree_with_adding_up_blocks),
		cmocka_unit_test(a_profile_without_tensors_has_no_such_memory),
		cmocka_unit_test(impossible_ranges_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
