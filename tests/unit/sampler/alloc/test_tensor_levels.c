/* What PyTorch's allocators say of their devices: names, levels over time, the interval. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"
#include "core/profile/profile.h"
#include "core/profile/process_end.h"
#include "sampler/agent/alloc/alloc_region.h"
#include "sampler/alloc/tensor_levels.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define CUDA(index) (1u | (uint32_t)(index) << 8)

static void devices_have_the_names_of_pytorch(void **state)
{
	static const struct {
		uint32_t device;
		const char *name;
		enum memory_kind kind;
	} expected[] = {
		{ 0xff00, "cpu", MEMORY_CPU_TENSORS },
		{ 0x0000, "cpu:0", MEMORY_CPU_TENSORS },
		{ CUDA(0), "cuda:0", MEMORY_GPU_TENSORS },
		{ CUDA(7), "cuda:7", MEMORY_GPU_TENSORS },
		{ 0xff01, "cuda", MEMORY_GPU_TENSORS },
		{ 0x000c, "xpu:0", MEMORY_GPU_TENSORS },
		{ 0x8081, "type 129:-128", MEMORY_GPU_TENSORS },
	};
	char name[TENSOR_DEVICE_NAME];

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_string_equal(tensor_device_name(expected[i].device, name), expected[i].name);
		assert_int_equal(tensor_device_kind(expected[i].device), expected[i].kind);
	}
}

static void every_block_is_recorded_until_there_are_too_many(void **state)
{
	uint64_t next;

	(void)state;
	assert_int_equal(tensor_next_interval(1, 9000, 9000ull << 20, SECOND), 1);
	next = tensor_next_interval(1, 100000, 100000ull << 20, SECOND);
	assert_in_range(next, (48ull << 20), (55ull << 20)); /* 2000 samples of 100 GiB */
	/* Going back waits until there are few. */
	assert_true(tensor_next_interval(next, 9000, 9000ull << 20, SECOND) > 1);
	assert_int_equal(tensor_next_interval(next, 4000, 4000ull << 20, SECOND), 1);
	/* Numbers that a target makes up. */
	assert_int_equal(tensor_next_interval(1, UINT64_MAX, UINT64_MAX, 1), 1ull << 46);
	assert_int_equal(tensor_next_interval(1, UINT64_MAX, 0, SECOND), 2);
	assert_int_equal(tensor_next_interval(1, UINT64_MAX, UINT64_MAX, 0), 1);
}

static void level_is(const struct profile *p, size_t i, uint64_t bytes, uint64_t reserved)
{
	const struct fact_tensor_level *rows;
	size_t nr;

	rows = facts_rows(p, FACT_TENSOR_LEVEL, &nr);
	assert_true(i < nr);
	assert_int_equal(rows[i].pid, 7);
	assert_int_equal(rows[i].device, CUDA(1));
	assert_int_equal(rows[i].allocated_bytes, bytes);
	assert_int_equal(rows[i].reserved_bytes, reserved);
	if (i)
		assert_true(rows[i].time_ns > rows[i - 1].time_ns);
}

static void peaks_between_two_looks_are_kept(void **state)
{
	struct alloc_shared *shared = xcalloc(1, sizeof(*shared));
	struct alloc_device *d = &shared->devices[3];
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	struct tensor_levels *l = tensor_levels_new(7, shared);
	const struct fact_tensor_memory *row;
	size_t nr;

	(void)state;
	assert_int_equal(shared->tensor_interval, 1);
	tensor_levels_drain(l, SECOND, sink);
	facts_rows(p, FACT_TENSOR_LEVEL, &nr);
	assert_int_equal(nr, 0);
	d->device = 1 + CUDA(1);
	d->allocated = d->peak = 100;
	d->reserved = 1000;
	d->before_bytes = 60;
	tensor_levels_drain(l, 2 * SECOND, sink);
	level_is(p, 0, 100, 1000);
	d->peak = 900; /* and back, before we look again */
	tensor_levels_drain(l, 2 * SECOND + 100 * MS, sink);
	level_is(p, 1, 900, 0);
	d->allocated = 150;
	tensor_levels_drain(l, 2 * SECOND + 101 * MS, sink); /* too soon */
	facts_rows(p, FACT_TENSOR_LEVEL, &nr);
	assert_int_equal(nr, 2);
	tensor_levels_finish(l, 2 * SECOND + 102 * MS, sink);
	level_is(p, 2, 150, 1000);
	row = facts_rows(p, FACT_TENSOR_MEMORY, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(profile_str(p, (uint32_t)row->name), "cuda:1");
	assert_int_equal(row->peak_bytes, 900);
	assert_int_equal(row->before_bytes, 60);
	assert_int_equal(row->allocated_bytes, 150);
	assert_int_equal(row->interval, 1);
	assert_true(p->has_tensors);
	assert_false(p->samples_tensors);
	tensor_levels_free(l);
	profile_sink_free(sink);
	profile_free(p);
	free(shared);
}

static void what_is_no_number_of_bytes_is_nothing(void **state)
{
	struct alloc_shared *shared = xcalloc(1, sizeof(*shared));
	struct alloc_device *d = &shared->devices[0];
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	struct tensor_levels *l = tensor_levels_new(7, shared);

	(void)state;
	d->device = 1 + CUDA(1);
	d->allocated = d->reserved = d->peak = d->before_bytes = UINT64_MAX;
	d->nr_blocks = d->nr_bytes = UINT64_MAX;
	tensor_levels_drain(l, SECOND, sink);
	tensor_levels_adapt(l, SECOND);
	tensor_levels_finish(l, 2 * SECOND, sink);
	level_is(p, 0, 0, 0);
	assert_int_equal(shared->tensor_interval, 1);
	tensor_levels_free(l);
	profile_sink_free(sink);
	profile_free(p);
	free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_have_the_names_of_pytorch),
		cmocka_unit_test(every_block_is_recorded_until_there_are_too_many),
		cmocka_unit_test(peaks_between_two_looks_are_kept),
		cmocka_unit_test(what_is_no_number_of_bytes_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
