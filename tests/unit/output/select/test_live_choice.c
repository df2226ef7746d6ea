/* What was live at a moment, at the peak, and what was not freed, with its sampling error. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/live_blocks.h"
#include "core/profile/profile.h"
#include "core/profile/process_end.h"
#include "output/select/live_choice.h"
#include "output/tree/margins.h"
#include "output/tree/tree.h"

#define SECOND 1000000000ull
#define START (100 * SECOND)

struct made {
	struct profile *p;
	uint32_t thread, stacks[3];
};

static void add(struct made *m, enum profile_column column, uint32_t stack, uint64_t time_ns,
		uint64_t weight)
{
	const struct profile_sample s = {
		.time_ns = time_ns,
		.weight = weight,
		.thread = m->thread,
		.stack = m->stacks[stack],
		.column = (uint8_t)column,
	};

	profile_add_sample(m->p, &s);
}

/* A block that lives from one second to another; 0: until the end. */
static void add_block(struct made *m, uint32_t stack, uint64_t from_s, uint64_t to_s,
		      uint64_t bytes)
{
	uint64_t from = START + from_s * SECOND, to = START + to_s * SECOND;

	add(m, COLUMN_ALLOCATED, stack, from, bytes);
	add(m, COLUMN_ALLOCATIONS, stack, from, 10);
	if (to_s)
		add(m, COLUMN_LIFETIME, stack, to, to - from);
	else
		add(m, COLUMN_LIVE, stack, START + 30 * SECOND, bytes);
}

/*
 * 30 s: "early" is held from the start on, "cache" for some time in the middle, where it makes the
 * peak, and "leak" grows all the time.
 */
static void make(struct made *m)
{
	const struct fact_memory_sampled sampled = { .pid = 7,
						     .least_interval = 1000,
						     .greatest_interval = 1000 };
	static const char *const names[] = { "early", "cache", "leak" };

	*m = (struct made){ .p = profile_new() };
	m->p->meta.start_ns = START;
	m->p->meta.end_ns = START + 30 * SECOND;
	m->thread = profile_thread(m->p, 7, 7, profile_cstring(m->p, "t"));
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t frame =
			profile_named_frame(m->p, names[i], strlen(names[i]), FUNCTION_NATIVE);

		m->stacks[i] = profile_stack(m->p, &frame, 1);
	}
	facts_put(m->p, FACT_MEMORY_SAMPLED, &sampled);
	add_block(m, 0, 1, 0, 5000);
	for (uint64_t at = 2; at < 30; at += 2)
		add_block(m, 2, at, 0, 1000);
	for (uint64_t i = 0; i < 8; i++)
		add_block(m, 1, 11, 15, 2000); /* equal blocks end together */
	add_block(m, 1, 12, 25, 40000);
}

static uint64_t sum(const struct made *m, enum profile_column column, uint32_t stack)
{
	uint64_t all = 0;

	for (size_t i = 0; i < m->p->nr_samples; i++)
		if (m->p->samples[i].column == column && m->p->samples[i].stack == m->stacks[stack])
			all += m->p->samples[i].weight;
	return all;
}

static struct moment after(uint64_t s)
{
	return (struct moment){ .kind = MOMENT_AFTER_START, .ns = s * SECOND };
}

static void at_a_moment_live_is_what_was_allocated_and_not_freed(void **state)
{
	const struct live_choice choice = { .kind = LIVE_AT, .from = after(13) };
	const char *lacks;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(live_apply(&choice, m.p, &lacks), 0);
	assert_int_equal(sum(&m, COLUMN_LIVE, 0), 5000);
	assert_int_equal(sum(&m, COLUMN_LIVE, 1), 8 * 2000 + 40000);
	assert_int_equal(sum(&m, COLUMN_LIVE, 2), 6 * 1000);
	assert_int_equal(sum(&m, COLUMN_LIVE_OBJECTS, 2), 60);
	assert_int_equal(column_default(m.p), COLUMN_LIVE);
	profile_free(m.p);
}

static void the_peak_is_found(void **state)
{
	const struct live_choice choice = { .kind = LIVE_AT_PEAK };
	const char *lacks;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(live_apply(&choice, m.p, &lacks), 0);
	assert_int_equal(m.p->live.peak_ns[MEMORY_MALLOC], START + 14 * SECOND);
	assert_int_equal(sum(&m, COLUMN_LIVE, 1), 8 * 2000 + 40000);
	assert_int_equal(sum(&m, COLUMN_LIVE, 2), 7 * 1000);
	profile_free(m.p);
}

/* Memory of GPUs is never compared with that of malloc: each kind has a peak of its own. */
static void each_kind_of_memory_has_its_peak(void **state)
{
	const struct live_choice choice = { .kind = LIVE_AT_PEAK };
	const struct fact_tensor_memory fact = { .pid = 7, .device = 1, .interval = 1 };
	const char *lacks;
	struct made m;

	(void)state;
	make(&m);
	facts_put(m.p, FACT_TENSOR_MEMORY, &fact);
	add(&m, COLUMN_GPU_ALLOCATED, 0, START + 4 * SECOND + 1, 1u << 30);
	add(&m, COLUMN_GPU_BLOCKS, 0, START + 4 * SECOND + 1, 1);
	add(&m, COLUMN_LIFETIME, 0, START + 5 * SECOND, SECOND - 1);
	add(&m, COLUMN_GPU_ALLOCATED, 1, START + 6 * SECOND, 1000);
	add(&m, COLUMN_CPU_ALLOCATED, 2, START + 7 * SECOND + 1, 70);
	assert_int_equal(live_apply(&choice, m.p, &lacks), 0);
	assert_int_equal(m.p->live.peak_ns[MEMORY_MALLOC], START + 14 * SECOND);
	assert_int_equal(m.p->live.peak_ns[MEMORY_GPU_TENSORS], START + 4 * SECOND + 1);
	assert_int_equal(sum(&m, COLUMN_LIVE, 1), 8 * 2000 + 40000);
	assert_int_equal(sum(&m, COLUMN_GPU_LIVE, 0), 1u << 30);
	assert_int_equal(sum(&m, COLUMN_GPU_LIVE_BLOCKS, 0), 1);
	assert_int_equal(sum(&m, COLUMN_GPU_LIVE, 1), 0);
	assert_int_equal(sum(&m, COLUMN_CPU_LIVE, 2), 70);
	profile_free(m.p);
}

static void leaks_are_of_the_middle_and_not_freed(void **state)
{
	struct live_choice choice = { .kind = LIVE_LEAKS };
	const char *lacks;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(live_apply(&choice, m.p, &lacks), 0);
	assert_int_equal(sum(&m, COLUMN_LIVE, 0), 0);
	assert_int_equal(sum(&m, COLUMN_LIVE, 1), 0);
	assert_int_equal(sum(&m, COLUMN_LIVE, 2), 5 * 1000); /* 10, 12, ... 18 s */
	profile_free(m.p);
	make(&m);
	choice.from = after(0);
	choice.to = after(5);
	assert_int_equal(live_apply(&choice, m.p, &lacks), 0);
	assert_int_equal(sum(&m, COLUMN_LIVE, 0), 5000);
	assert_int_equal(sum(&m, COLUMN_LIVE, 2), 2 * 1000);
	profile_free(m.p);
}

static void what_does_not_know_frees_is_refused(void **state)
{
	const struct live_choice choice = { .kind = LIVE_AT_PEAK };
	const struct live_choice late = { .kind = LIVE_AT, .from = after(31) };
	const char *lacks = NULL;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(live_apply(&late, m.p, &lacks), -ENODATA);
	m.p->samples_memory = false;
	assert_int_equal(live_apply(&choice, m.p, &lacks), -ENODATA);
	assert_non_null(lacks);
	assert_int_equal(sum(&m, COLUMN_LIVE, 2), 14 * 1000); /* unchanged */
	profile_free(m.p);
}

/* A lifetime that begins before the time of any block, or that leads to none, ends none. */
static void impossible_lifetimes_end_nothing(void **state)
{
	struct live_block *blocks;
	size_t nr, nr_held = 0;
	struct made m;

	(void)state;
	make(&m);
	add(&m, COLUMN_LIFETIME, 0, START + SECOND, UINT64_MAX);
	add(&m, COLUMN_LIFETIME, 0, START + 3 * SECOND, SECOND);
	blocks = live_blocks_new(m.p, &nr);
	for (size_t i = 0; i < nr; i++)
		nr_held += blocks[i].end_ns == LIVE_BLOCK_HELD;
	assert_int_equal(nr_held, 2 * 15);
	free(blocks);
	profile_free(m.p);
}

/*
 * Sizes s, each sampled with its chance at an interval: the estimated variance has the mean
 * s^2 (1 - q) / q, which is that of the sum.
 */
static void margins_are_those_of_the_sampling(void **state)
{
	static const double sizes[] = { 10, 1000, 30000, 65536, 200000, 3000000 };
	const uint64_t interval = 65536;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double s = sizes[i], q = -expm1(-s / (double)interval);
		double is = q * margins_variance((uint64_t)llround(s / q), false, interval);

		assert_true(fabs(is - s * s * (1 - q) / q) <= 0.02 * s * s * (1 - q) / q + 1);
	}
}

static void a_tree_of_sampled_memory_has_margins(void **state)
{
	const struct tree_opts opts = { .column_given = true, .column = COLUMN_ALLOCATED };
	struct tree *tree;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(tree_new(m.p, &opts, &tree), 0);
	assert_int_equal(margins_add(tree, m.p, &opts), 0);
	assert_non_null(tree->margins);
	for (size_t i = 0; i < tree->functions.nr; i++) {
		const char *name = tree->functions.list[i].name;

		/* 14 blocks of the interval; and one 40 times as large, which is sampled always */
		if (!strcmp(name, "leak"))
			assert_true(fabs((double)tree->margins->self[i] - 1.96 * 1000 * sqrt(14)) <
				    20);
		if (!strcmp(name, "early"))
			assert_true(tree->margins->self[i] < 1000);
	}
	tree_free(tree);
	m.p->samples_memory = false;
	assert_int_equal(tree_new(m.p, &opts, &tree), 0);
	assert_int_equal(margins_add(tree, m.p, &opts), 0);
	assert_null(tree->margins);
	tree_free(tree);
	profile_free(m.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_a_moment_live_is_what_was_allocated_and_not_freed),
		cmocka_unit_test(the_peak_is_found),
		cmocka_unit_test(each_kind_of_memory_has_its_peak),
		cmocka_unit_test(leaks_are_of_the_middle_and_not_freed),
		cmocka_unit_test(what_does_not_know_frees_is_refused),
		cmocka_unit_test(impossible_lifetimes_end_nothing),
		cmocka_unit_test(margins_are_those_of_the_sampling),
		cmocka_unit_test(a_tree_of_sampled_memory_has_margins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
