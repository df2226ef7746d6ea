/* gpu/api_calls.c: which calls still wait for the record of their work. */
#include "tests/unit/unit.h"

#include "gpu/agent/base/records.h"
#include "gpu/agent/base/region.h"
#include "gpu/api_calls.h"

#define SECOND 1000000000ull

static void launch(struct api_calls *calls, uint32_t correlation, uint8_t class, uint64_t start_ns)
{
	const struct gpu_rec_api record = {
		.correlation = correlation,
		.api_class = class,
		.start_ns = start_ns,
		.end_ns = start_ns + 1000,
	};

	api_calls_add(calls, &record);
}

/* Call 1 at second 5, launch 2 at second 6; then the record `record` ends the wait for call 1. */
static void begin_two(struct api_calls *calls, uint8_t class, uint32_t record, uint64_t node)
{
	launch(calls, 1, class, 5 * SECOND);
	launch(calls, 2, GPU_API_LAUNCH, 6 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(calls, 7 * SECOND), 5 * SECOND);
	api_calls_has_record(calls, record, node, 8 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(calls, 8 * SECOND), 6 * SECOND);
}

static void a_launch_is_awaited_until_its_record_comes(void **state)
{
	struct api_calls calls = { .want = GPU_WANT_KERNELS };

	(void)state;
	begin_two(&calls, GPU_API_LAUNCH, 1, 0);
	api_calls_has_record(&calls, 2, 0, 9 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 9 * SECOND), UINT64_MAX);
	api_calls_fini(&calls);
}

static void a_graph_node_without_its_call_ends_the_wait_for_earlier_graphs_only(void **state)
{
	struct api_calls calls = { .want = GPU_WANT_KERNELS };

	(void)state;
	begin_two(&calls, GPU_API_GRAPH_LAUNCH, 77, 3);
	assert_int_equal(calls.nr_graph_lost, 1);
	/* A call whose record is read late began before the node was read. */
	launch(&calls, 3, GPU_API_GRAPH_LAUNCH, 7 * SECOND);
	api_calls_has_record(&calls, 2, 0, 9 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 9 * SECOND), UINT64_MAX);
	/* Later graphs are awaited again, up to their own records. */
	launch(&calls, 4, GPU_API_GRAPH_LAUNCH, 10 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 11 * SECOND), 10 * SECOND);
	api_calls_has_record(&calls, 4, 3, 12 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 13 * SECOND), 10 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 15 * SECOND), UINT64_MAX);
	assert_int_equal(calls.nr_graph_lost, 1);
	api_calls_fini(&calls);
}

static void a_lost_record_ends_the_wait_for_earlier_calls_only(void **state)
{
	struct api_calls calls = { .want = GPU_WANT_KERNELS };

	(void)state;
	launch(&calls, 1, GPU_API_LAUNCH, 5 * SECOND);
	launch(&calls, 2, GPU_API_GRAPH_LAUNCH, 6 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 7 * SECOND), 5 * SECOND);
	assert_int_equal(api_calls_nr_open(&calls), 1);
	calls.lost_ns = 8 * SECOND;
	/* A call whose record is read late began before the loss. */
	launch(&calls, 3, GPU_API_LAUNCH, 7 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 8 * SECOND), UINT64_MAX);
	assert_int_equal(api_calls_nr_open(&calls), 0);
	assert_non_null(api_calls_find(&calls, 1)); /* its record may come all the same */
	launch(&calls, 4, GPU_API_LAUNCH, 9 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 10 * SECOND), 9 * SECOND);
	api_calls_has_record(&calls, 4, 0, 10 * SECOND);
	assert_int_equal(api_calls_oldest_awaited(&calls, 10 * SECOND), UINT64_MAX);
	api_calls_fini(&calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_awaited_until_its_record_comes),
		cmocka_unit_test(
			a_graph_node_without_its_call_ends_the_wait_for_earlier_graphs_only),
		cmocka_unit_test(a_lost_record_ends_the_wait_for_earlier_calls_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
