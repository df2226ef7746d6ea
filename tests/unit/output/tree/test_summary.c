/* output/tree/summary.c: what is lost of the memory of tensors. */
#include "tests/unit/unit.h"

#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "core/profile/profile.h"
#include "output/tree/summary.h"
#include "output/tree/tree.h"

static void add_device(struct profile *p, uint64_t pid, uint64_t device, uint64_t lost)
{
	const struct fact_tensor_memory row = { .pid = pid, .device = device, .lost = lost };

	facts_put(p, FACT_TENSOR_MEMORY, &row);
}

static uint64_t lost_of(const struct profile *p)
{
	const struct tree_opts opts = { .column_given = true, .column = COLUMN_GPU_ALLOCATED };
	struct summary s;
	struct tree *tree;

	assert_int_equal(tree_new(p, &opts, &tree), 0);
	summary_init(&s, p, tree, "");
	tree_free(tree);
	return s.lost;
}

static void blocks_lost_in_a_process_of_several_devices_count_once(void **state)
{
	struct profile *p = profile_new();

	(void)state;
	assert_int_equal(lost_of(p), 0);
	add_device(p, 7, 0, 5);
	add_device(p, 8, 0, 100);
	add_device(p, 7, 1, 5);
	add_device(p, 7, 257, 5);
	add_device(p, 8, 1, 100);
	add_device(p, UINT64_C(7) << 32, 0, 1000);
	assert_int_equal(lost_of(p), 1105);
	profile_free(p);
}

/* Comparing each process with all before it would take many minutes. */
static void half_a_million_processes_are_added_up_at_once(void **state)
{
	enum { NR = 500000 };
	struct profile *p = profile_new();

	(void)state;
	for (uint64_t i = 0; i < NR + 1000; i++)
		add_device(p, i % NR, i / NR, 3);
	assert_int_equal(lost_of(p), 3 * NR);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_lost_in_a_process_of_several_devices_count_once),
		cmocka_unit_test(half_a_million_processes_are_added_up_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
