/* Lists of kinds of GPU work, and which of them a recording lacks. */
#include "tests/unit/unit.h"

#include "core/base/buffer.h"
#include "core/profile/facts.h"
#include "core/profile/gpu_kinds.h"
#include "core/profile/profile.h"

static uint64_t parsed(const char *text)
{
	uint64_t kinds = 0;

	assert_true(gpu_kinds_parse(text, &kinds));
	return kinds;
}

static void lists_add_and_take_away(void **state)
{
	(void)state;
	assert_int_equal(parsed("all"), GPU_KINDS_DEFAULT);
	assert_int_equal(parsed("kernels"), GPU_KIND_KERNELS);
	assert_int_equal(parsed("kernels,graphs"), GPU_KIND_KERNELS | GPU_KIND_GRAPHS);
	assert_int_equal(parsed("all,graphs"), GPU_KINDS_ALL);
	assert_int_equal(parsed("-waits"), GPU_KINDS_DEFAULT & ~GPU_KIND_WAITS);
	assert_int_equal(parsed("kernels,waits,-waits"), GPU_KIND_KERNELS);
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"",	    ",",       "kernel",	   "kernels,",
		"-all",	    "--waits", "kernels,-kernels", "waits waits",
		"all-waits"
	};
	uint64_t kinds = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(gpu_kinds_parse(texts[i], &kinds));
	assert_int_equal(kinds, 77);
}

static void what_no_process_collected_is_missing(void **state)
{
	struct profile *p = profile_new();
	struct fact_gpu_collected row = { .pid = 1, .kinds = GPU_KIND_KERNELS };
	struct buffer b = { 0 };

	(void)state;
	assert_int_equal(gpu_kinds_not_collected(p), 0); /* an older recording */
	facts_put(p, FACT_GPU_COLLECTED, &row);
	row = (struct fact_gpu_collected){ .pid = 2, .kinds = GPU_KIND_COPIES | 1ull << 40 };
	facts_put(p, FACT_GPU_COLLECTED, &row);
	gpu_kinds_add(&b, gpu_kinds_not_collected(p));
	assert_string_equal(buffer_cstring(&b), "fills, waits, memory, ranges, overhead, flops");
	buffer_fini(&b);
	gpu_kinds_add_json(&b, GPU_KIND_KERNELS | GPU_KIND_FILLS);
	assert_string_equal(buffer_cstring(&b), "[\"kernels\", \"fills\"]");
	buffer_fini(&b);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_add_and_take_away),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(what_no_process_collected_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
