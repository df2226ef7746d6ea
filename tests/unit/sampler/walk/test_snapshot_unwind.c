/* The snapshot unwinder on samples of a target from which something is missing. */
#include "tests/unit/unit.h"
#include "tests/unit/stopped_target.h"
#include "tests/unit/traced.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/portable/frames.h"
#include "core/sandbox/confined_headers.h"
#include "sampler/walk/snapshot_unwind.h"

#define MAX_FRAMES 512

static struct traced traced;
static uint64_t later_ns; /* so much later is each reading of the clock, as on a busy machine */

int clock_gettime(clockid_t id, struct timespec *ret)
{
	static uint64_t passed_ns;
	int result = (int)syscall(SYS_clock_gettime, id, ret);

	passed_ns += later_ns;
	ret->tv_sec += (time_t)(passed_ns / 1000000000);
	ret->tv_nsec += (long)(passed_ns % 1000000000);
	return result;
}

static bool no_file(void *context, uint64_t module, struct snapshot_file *ret)
{
	(void)context, (void)module, (void)ret;
	return false;
}

static const struct snapshot_ops libunwind_only = { .find_mapping = traced_find_mapping,
						    .open_module = traced_open_module };

static int tear_down(void **state)
{
	(void)state;
	traced_end(&traced);
	traced.pid = 0;
	return 0;
}

static struct snapshot_result unwind(const struct snapshot_ops *ops,
				     const struct snapshot_sample *sample, uint64_t *frames,
				     size_t max)
{
	struct snapshot_unwinder *u = snapshot_unwinder_new(ops, &traced);
	struct snapshot_result result = snapshot_unwind(u, sample, frames, max);

	snapshot_unwinder_free(u);
	return result;
}

static void without_any_rows_libunwind_reaches_the_root(void **state)
{
	struct snapshot_sample sample;
	uint64_t frames[MAX_FRAMES];
	struct snapshot_result result;

	(void)state;
	sample = stop_target(&traced, "deep32_nofp", NULL);
	result = unwind(&libunwind_only, &sample, frames, MAX_FRAMES);
	assert_int_equal(result.marker, -1);
	assert_int_equal(result.gap, 0);
	assert_in_range(result.nr, 32, 40);
	assert_int_equal(frames[0], traced.regs.pc | FRAME_EXACT);
	for (size_t i = 1; i < result.nr; i++)
		assert_false(frames[i] & FRAME_EXACT);
}

static void a_static_program_needs_no_search_table(void **state)
{
	struct snapshot_sample sample;
	uint64_t frames[MAX_FRAMES];
	struct snapshot_result result;

	(void)state;
	sample = stop_target(&traced, "shares_static", NULL);
	result = unwind(&libunwind_only, &sample, frames, MAX_FRAMES);
	assert_int_equal(result.marker, -1);
	assert_true(result.nr >= 3);
}

static void a_snapshot_that_ends_early_says_so(void **state)
{
	uint64_t whole[MAX_FRAMES], part[MAX_FRAMES];
	struct snapshot_result all, some;
	struct snapshot_sample sample;

	(void)state;
	sample = stop_target(&traced, "deep32_nofp", NULL);
	all = unwind(&libunwind_only, &sample, whole, MAX_FRAMES);
	sample.stack_size = 128 + 256; /* the red zone, and a few frames */
	some = unwind(&libunwind_only, &sample, part, MAX_FRAMES);
	assert_int_equal(some.marker, MARKER_SNAPSHOT_END);
	assert_true(some.nr > 2 && some.nr < all.nr);
	assert_memory_equal(whole, part, some.nr * sizeof(*part));
}

static void a_deep_stack_keeps_leaf_and_root(void **state)
{
	static uint64_t whole[MAX_FRAMES * 8];
	uint64_t cut[64];
	struct snapshot_result all, some;
	struct snapshot_sample sample;

	(void)state;
	stop_target(&traced, "recursion", "2000");
	/* It may have been stopped on its way down or up: it runs on until it is at the bottom. */
	for (int i = 0;; i++) {
		sample = traced_sample(&traced);
		all = unwind(&libunwind_only, &sample, whole, sizeof(whole) / sizeof(*whole));
		assert_int_equal(all.marker, -1);
		if (all.nr > 2000)
			break;
		assert_true(i < 100);
		assert_true(traced_run(&traced, 1000));
		assert_true(traced_capture(&traced));
	}
	some = unwind(&libunwind_only, &sample, cut, 64);
	assert_int_equal(some.marker, -1);
	assert_int_equal(some.nr, 64);
	assert_int_equal(some.gap, 48);
	assert_memory_equal(cut, whole, 48 * sizeof(*cut));
	assert_memory_equal(cut + 48, whole + all.nr - 16, 16 * sizeof(*cut));
}

static void a_stack_that_takes_too_long_is_cut_and_says_so(void **state)
{
	static uint64_t frames[MAX_FRAMES * 8];
	struct snapshot_sample sample;
	struct snapshot_unwinder *u;
	struct snapshot_result result;

	(void)state;
	sample = stop_target(&traced, "recursion", "2000");
	u = snapshot_unwinder_new(&libunwind_only, &traced);
	later_ns = 40000000;
	result = snapshot_unwind(u, &sample, frames, sizeof(frames) / sizeof(*frames));
	assert_int_equal(result.marker, MARKER_TOO_LONG);
	assert_true(result.nr >= 1 && result.nr < 2000);
	later_ns = 0;
	result = snapshot_unwind(u, &sample, frames, sizeof(frames) / sizeof(*frames));
	assert_int_equal(result.marker, -1);
	snapshot_unwinder_free(u);
}

static void files_that_cannot_be_read_leave_the_leaf(void **state)
{
	static const struct snapshot_ops ops = { .find_mapping = traced_find_mapping,
						 .open_module = no_file };
	struct snapshot_sample sample;
	uint64_t frames[MAX_FRAMES];
	struct snapshot_result result;

	(void)state;
	sample = stop_target(&traced, "deep32_nofp", NULL);
	sample.regs.fp = 0;
	result = unwind(&ops, &sample, frames, MAX_FRAMES);
	assert_int_equal(result.marker, MARKER_NO_RULE);
	assert_int_equal(result.nr, 1);
}

/* Whatever walks in libunwind's place knows no rule either. */
static bool finds_nothing(void *context, const struct snapshot_sample *sample,
			  struct snapshot_turn *turn)
{
	(void)context, (void)sample;
	turn->status = WALK_NO_RULE;
	return true;
}

static bool has_no_table(void *context, uint64_t module, uint64_t vaddr, struct walk_rule *ret)
{
	(void)context, (void)module, (void)vaddr, (void)ret;
	return false;
}

/* With its executable segments, by which the place of an address is found without libunwind. */
static bool open_with_segments(void *context, uint64_t module, struct snapshot_file *ret)
{
	static struct code_headers headers;

	if (!traced_open_module(context, module, ret))
		return false;
	if (!headers.segments)
		assert_int_equal(code_headers_read(NULL, 0, ret->fd, &headers), 0);
	ret->segments = headers.segments;
	ret->nr_segments = headers.nr_segments;
	return true;
}

static bool is_coming;

static bool table_is_coming(void *context, uint64_t module)
{
	(void)context, (void)module;
	return is_coming;
}

static void the_table_that_a_stack_lacks_is_named_while_it_is_being_built(void **state)
{
	const struct snapshot_ops ops = { .find_mapping = traced_find_mapping,
					  .open_module = open_with_segments,
					  .find_rule = has_no_table,
					  .table_is_coming = table_is_coming,
					  .take_turn = finds_nothing };
	struct snapshot_sample sample;
	struct snapshot_mapping program;
	uint64_t frames[MAX_FRAMES];
	struct snapshot_result result;

	(void)state;
	sample = stop_target(&traced, "deep32_nofp", NULL);
	assert_true(traced_find_mapping(&traced, sample.regs.pc, &program));
	is_coming = sample.may_wait = true;
	assert_int_equal(unwind(&ops, &sample, frames, MAX_FRAMES).awaited, program.module);
	sample.may_wait = false;
	result = unwind(&ops, &sample, frames, MAX_FRAMES);
	assert_int_equal(result.awaited, 0);
	assert_int_equal(result.marker, MARKER_NO_RULE);
	assert_int_equal(result.nr, 1);
	is_coming = false;
	sample.may_wait = true;
	result = unwind(&ops, &sample, frames, MAX_FRAMES);
	assert_int_equal(result.awaited, 0);
	assert_int_equal(result.marker, MARKER_NO_RULE);
}

static void an_address_in_no_mapping_is_unknown(void **state)
{
	struct snapshot_sample sample;
	uint64_t frames[MAX_FRAMES];
	struct snapshot_result result;

	(void)state;
	sample = stop_target(&traced, "deep32_nofp", NULL);
	sample.regs.pc = 0x1000;
	sample.regs.fp = 0;
	result = unwind(&libunwind_only, &sample, frames, MAX_FRAMES);
	assert_int_equal(result.marker, MARKER_UNKNOWN);
	assert_int_equal(result.nr, 1);
	assert_int_equal(frames[0], 0x1000 | FRAME_EXACT);
}

/*
 * Registers and stacks of a hostile target: whatever they hold, the walk ends and stays in bounds.
 */
static void garbage_on_the_stack_ends_the_walk(void **state)
{
	uint64_t frames[MAX_FRAMES], random = 1, good;
	struct snapshot_unwinder *u;
	struct snapshot_sample sample;
	static uint8_t stack[4096];

	(void)state;
	stop_target(&traced, "deep32_nofp", NULL);
	u = snapshot_unwinder_new(&libunwind_only, &traced);
	sample = traced_sample(&traced);
	good = traced.regs.pc;
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(stack) / 8; i++) {
			uint64_t word;

			random = random * 6364136223846793005u + 1442695040888963407u;
			/* code addresses, stack addresses, anything */
			word = random >> 62 == 0   ? good + (random >> 40 & 0xfff)
			       : random >> 62 == 1 ? sample.stack_start + (random >> 40 & 0xfff8)
						   : random;
			memcpy(stack + i * 8, &word, 8);
		}
		sample.stack = stack;
		sample.stack_size = random >> 50 & 4095;
		sample.regs.pc = good + (random >> 45 & 0xff);
		sample.regs.fp = sample.stack_start + (random >> 33 & 0xfff8);
		assert_true(snapshot_unwind(u, &sample, frames, MAX_FRAMES).nr >= 1);
	}
	snapshot_unwinder_free(u);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_any_rows_libunwind_reaches_the_root),
		TEST(a_static_program_needs_no_search_table),
		TEST(a_snapshot_that_ends_early_says_so),
		TEST(a_deep_stack_keeps_leaf_and_root),
		TEST(a_stack_that_takes_too_long_is_cut_and_says_so),
		TEST(files_that_cannot_be_read_leave_the_leaf),
		TEST(the_table_that_a_stack_lacks_is_named_while_it_is_being_built),
		TEST(an_address_in_no_mapping_is_unknown),
		TEST(garbage_on_the_stack_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
