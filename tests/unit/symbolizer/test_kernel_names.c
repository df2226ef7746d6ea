/* symbolizer/kernel_source.c: the source that took the samples names kernel frames. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>

#include "core/profile/profile.h"
#include "symbolizer/symbolizer.h"

struct kernel {
	unsigned nr_questions;
};

/* Knows the function "even" at even addresses. */
static int kernel_symbol(void *context, uint64_t address, char *name, size_t size)
{
	struct kernel *kernel = context;

	kernel->nr_questions++;
	if (address & 1)
		return -ENOENT;
	snprintf(name, size, "even [module]");
	return 0;
}

static void each_kernel_address_is_asked_once_and_named(void **state)
{
	struct kernel kernel = { 0 };
	const struct symbolizer_opts opts = {
		.kernel_symbol = kernel_symbol,
		.context = &kernel,
	};
	struct profile *p = profile_new();
	struct profile_module module = {
		.path = profile_cstring(p, "[kernel]"),
		.kind = MODULE_KERNEL,
	};
	uint32_t id = profile_module(p, &module);
	uint32_t even = profile_frame(p, id, 0xffffffff81000010);
	uint32_t odd = profile_frame(p, id, 0xffffffff81000011);
	struct symbolizer_stats stats;
	const struct profile_function *f;

	(void)state;
	symbolizer_run(p, &opts, &stats);
	assert_int_equal(kernel.nr_questions, 2);
	assert_int_equal(stats.nr_frames, 2);
	assert_int_equal(stats.nr_unnamed, 1);
	assert_int_equal(p->frames[odd].nr_locations, 0);
	assert_int_equal(p->frames[even].nr_locations, 1);
	f = &p->functions[p->locations[p->frames[even].first_location].function];
	assert_string_equal(profile_str(p, f->name), "even [module]");
	assert_int_equal(f->kind, FUNCTION_KERNEL);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kernel_address_is_asked_once_and_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
