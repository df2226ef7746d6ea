/* Differences of sampled memory, whose samples weigh differently: the error that they are given. */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include <math.h>
#include <stdlib.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/tree/diff.h"
#include "output/tree/margins.h"
#include "output/tree/tree.h"

/* Blocks of one function: how many, and their size in intervals. */
struct blocks {
	unsigned nr;
	double size;
};

enum { INTERVAL = 10000 };

/* What samples say of them. */
static struct diff_amount sampled(struct blocks blocks)
{
	double chance = -expm1(-blocks.size), variance = 0;
	struct diff_amount a = { 0 };

	for (unsigned i = 0; i < blocks.nr; i++) {
		uint64_t weight = (uint64_t)llround(blocks.size * INTERVAL / chance);

		if (rng(1000000) >= (unsigned)(chance * 1000000))
			continue;
		a.value += weight;
		a.samples++;
		variance += margins_variance(weight, false, INTERVAL);
	}
	variance /= (double)INTERVAL * INTERVAL;
	a.equal = !a.samples ? 0 : variance > 1 ? (uint64_t)llround(variance) : 1;
	return a;
}

/* The same where samples weigh differently, as those of memory do. */
static void equal_programs_of_unequal_samples_rarely_look_changed(void **state)
{
	enum { ROUNDS = 2000 };
	static const struct blocks functions[] = {
		{ 20000, .005 }, { 100, .3 }, { 4, .05 }, { 3, 2 }, { 1, 200 }
	};
	const size_t nr = sizeof(functions) / sizeof(*functions);
	unsigned changed[5] = { 0 };

	(void)state;
	rng_state = 42;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct diff d = { .has_variances = true,
				  .absolute = round % 2,
				  .step_before = INTERVAL,
				  .step_after = INTERVAL };
		struct diff_amount a[2][5], *whole[2] = { &d.whole_before, &d.whole_after };

		for (size_t i = 0; i < 2 * nr; i++) {
			a[i % 2][i / 2] = sampled(functions[i / 2]);
			whole[i % 2]->value += a[i % 2][i / 2].value;
			whole[i % 2]->samples += a[i % 2][i / 2].samples;
			whole[i % 2]->equal += a[i % 2][i / 2].equal;
		}
		for (size_t i = 0; i < nr; i++)
			changed[i] += diff_compare(&d, a[0][i], a[1][i]).significant;
	}
	for (size_t i = 0; i < nr; i++)
		assert_true(changed[i] < ROUNDS * .05 + 4 * sqrt(ROUNDS * .05 * .95));
}

/* A block that is always sampled is known exactly, however few samples that is. */
static void a_large_block_that_grew_has_changed(void **state)
{
	const struct fact_memory_sampled sampled_fact = { .pid = 1,
							  .least_interval = INTERVAL,
							  .greatest_interval = INTERVAL };
	const struct tree_opts opts = { .column_given = true, .column = COLUMN_ALLOCATED };
	struct profile *p[2];
	struct tree *trees[2];
	struct diff_row *rows;
	struct diff *d;
	uint32_t nr;

	(void)state;
	for (int side = 0; side < 2; side++) {
		p[side] = profile_new();
		facts_put(p[side], FACT_MEMORY_SAMPLED, &sampled_fact);
		for (int i = 0; i < 20; i++) {
			uint32_t frame = profile_named_frame(p[side], i ? "small" : "large", 5,
							     FUNCTION_NATIVE);

			profile_add_sample(
				p[side],
				&(struct profile_sample){
					.weight = i ? INTERVAL
						    : (uint64_t)(60 + 10 * side) * INTERVAL,
					.thread = PROFILE_NONE,
					.stack = profile_stack(p[side], &frame, 1),
					.column = COLUMN_ALLOCATED });
		}
		assert_int_equal(tree_new(p[side], &opts, &trees[side]), 0);
		assert_int_equal(margins_add(trees[side], p[side], &opts), 0);
	}
	assert_int_equal(diff_new(trees[0], trees[1], true, &d), 0);
	assert_true(d->has_variances);
	rows = diff_rank(d, DIFF_SELF, &nr);
	assert_string_equal(rows[0].function->name, "large");
	assert_true(rows[0].self.significant);
	/* at most a sample on each side is added, of 79 intervals before */
	assert_true(rows[0].self.margin < 1.96 * 2.01 / 79);
	assert_true(!rows[1].self.significant);
	assert_true(fabs(rows[1].self.margin - 1.96 * sqrt(2 * 20) / 79) < .001);
	free(rows);
	diff_free(d);
	for (int side = 0; side < 2; side++) {
		tree_free(trees[side]);
		profile_free(p[side]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_programs_of_unequal_samples_rarely_look_changed),
		cmocka_unit_test(a_large_block_that_grew_has_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
