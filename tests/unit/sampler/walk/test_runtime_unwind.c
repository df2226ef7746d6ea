/* Rules for runtime code, which this process makes: it is its own target. */
#include "tests/unit/unit.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/portable/frames.h"
#include "sampler/walk/expected_code.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/target/process.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/walk/table_builder.h"
#include "sampler/unwind/unwind_table.h"

#define CODE_SIZE (8u << 20)
#define PAGE 4096u
#define INSIDE 20 /* after the prologue of both functions */
#define SECOND_NS (1000ull * 1000 * 1000)

/* push %rbp; sub $n,%rsp; xor %ebp,%ebp; nops; add $n,%rsp; pop %rbp; ret */
static size_t write_function(uint8_t *at, uint32_t frame)
{
	uint8_t bytes[] = { 0x55, 0x48, 0x81, 0xec, 0,	  0,	0,    0,    0x31, 0xed, 0x90,
			    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
			    0x48, 0x81, 0xc4, 0,    0,	  0,	0,    0x5d, 0xc3 };

	memcpy(bytes + 4, &frame, sizeof(frame));
	memcpy(bytes + 25, &frame, sizeof(frame));
	memcpy(at, bytes, sizeof(bytes));
	return sizeof(bytes);
}

struct fixture {
	uint8_t *memory;
	struct walk_rule *rules;
	struct table_builder *builder;
	struct runtime_unwind *unwind;
	struct mapped_file code;
	struct process process;
	uint64_t now_ns;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->memory =
		mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->rules = calloc(WALK_NR_RULES, sizeof(*f->rules));
	f->builder = table_builder_new(f->rules, NULL, NULL);
	f->unwind = runtime_unwind_new(f->builder, WALK_MAX_MODULES, f->rules, NULL, NULL);
	f->code.kind = MODULE_JIT;
	f->process.pid = getpid();
	f->now_ns = monotonic_ns();
	process_map(&f->process, &(struct mapping){
					 .start = (uintptr_t)f->memory,
					 .end = (uintptr_t)f->memory + CODE_SIZE,
					 .code = &f->code,
				 });
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	table_builder_free(f->builder);
	process_fini(&f->process);
	runtime_unwind_free(f->unwind);
	munmap(f->memory, CODE_SIZE);
	free(f->rules);
	free(f);
	return 0;
}

/* Checks a stack of two frames, the leaf at an offset of the memory. Returns its marker, or -1. */
static int sample(struct fixture *f, size_t offset, uint32_t epoch)
{
	const uint64_t frames[] = { (uintptr_t)(f->memory + offset) | FRAME_EXACT, 0x1000 };
	struct walked w = { .user = frames, .nr_user = 2, .marker = -1 };

	runtime_unwind_check(f->unwind, &f->process, f->now_ns, epoch, &w);
	assert_int_equal(w.nr_user, w.marker < 0 ? 2 : 1);
	return w.marker;
}

/* A round of a source, which waits until the builder has answered. */
static void look(struct fixture *f, uint64_t later_ns)
{
	struct pollfd ready = { table_builder_event_fd(f->builder), POLLIN, 0 };
	struct built_table built;

	f->now_ns += later_ns;
	runtime_unwind_look(f->unwind, &f->process, f->now_ns);
	while (table_builder_nr_pending(f->builder)) {
		poll(&ready, 1, 1000);
		while (table_builder_take(f->builder, &built))
			runtime_unwind_take(f->unwind, &built);
	}
	runtime_unwind_look(f->unwind, &f->process, f->now_ns);
	runtime_unwind_tidy(f->unwind, f->now_ns);
}

/* The size of the frame by the rule at an offset; 0: no rule. */
static int32_t frame_at(struct fixture *f, size_t offset)
{
	struct walk_rule rule;

	if (!runtime_unwind_rule(f->unwind, &f->process, (uintptr_t)(f->memory + offset), f->now_ns,
				 &rule))
		return 0;
	assert_int_equal(rule.cfa, WALK_CFA_SP);
	assert_int_equal(rule.fp, WALK_FP_CFA);
	return rule.cfa_off - 16;
}

static void code_has_rules_once_a_sample_was_there(void **state)
{
	struct fixture *f = *state;

	write_function(f->memory + 16 * PAGE, 0x100);
	look(f, 0);
	assert_int_equal(frame_at(f, 16 * PAGE + INSIDE), 0);
	assert_int_equal(runtime_unwind_bytes_read(f->unwind), 0);
	assert_int_equal(sample(f, 16 * PAGE + INSIDE, 0), -1);
	look(f, 0);
	assert_int_equal(frame_at(f, 16 * PAGE + INSIDE), 0x100);
	assert_int_equal(f->process.dirty, true);
	assert_int_equal(sample(f, 16 * PAGE + INSIDE, 0), -1);
	/* the page, the zero pages around it, and the function again */
	assert_in_range(runtime_unwind_bytes_read(f->unwind), 3 * PAGE, 3 * PAGE + 100);
}

static void neighbours_in_pages_of_their_own_are_found_with_it(void **state)
{
	struct fixture *f = *state;
	size_t end = write_function(f->memory, 0x100);

	memset(f->memory + end, 6, 100); /* constants; no instruction */
	write_function(f->memory + PAGE, 0x200);
	sample(f, INSIDE, 0);
	look(f, 0);
	assert_int_equal(frame_at(f, INSIDE), 0x100);
	assert_int_equal(frame_at(f, PAGE + INSIDE), 0x200);
	assert_int_equal(frame_at(f, end + 1), 0);
}

static void stacks_by_rules_of_other_code_are_cut(void **state)
{
	struct fixture *f = *state;
	uint32_t epoch = f->process.epoch;

	write_function(f->memory, 0x100);
	sample(f, INSIDE, epoch);
	look(f, 0);
	write_function(f->memory, 0x200);
	assert_int_equal(sample(f, INSIDE, epoch), MARKER_NO_RULE);
	assert_int_not_equal(f->process.epoch, epoch);
	assert_int_equal(frame_at(f, INSIDE), 0);
	/* walked before the change was published, checked after it */
	assert_int_equal(sample(f, INSIDE, epoch), MARKER_NO_RULE);
	look(f, SECOND_NS);
	assert_int_equal(frame_at(f, INSIDE), 0x200);
	assert_int_equal(sample(f, INSIDE, epoch), MARKER_NO_RULE);
	assert_int_equal(sample(f, INSIDE, f->process.epoch), -1);
}

static void code_that_changes_all_the_time_has_no_rules(void **state)
{
	struct fixture *f = *state;
	uint32_t nr_with_rules = 0;

	for (uint32_t i = 1; i <= 20; i++) {
		write_function(f->memory, 0x100 * i);
		sample(f, INSIDE, f->process.epoch);
		look(f, SECOND_NS / 10);
		nr_with_rules += frame_at(f, INSIDE) != 0;
	}
	assert_in_range(nr_with_rules, 2, 10);
	assert_int_equal(frame_at(f, INSIDE), 0);
	look(f, 400 * SECOND_NS);
	assert_int_equal(frame_at(f, INSIDE), 0x100 * 20);
}

/* Stacks with known keys are not checked again. */
static void code_is_compared_without_new_stacks_too(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	write_function(f->memory, 0x100);
	sample(f, INSIDE, 0);
	look(f, 0);
	before = runtime_unwind_bytes_read(f->unwind);
	for (int i = 0; i < 600; i++)
		look(f, SECOND_NS / 10);
	/* a page, at first after 0.1 s on average, then after 3.2 s */
	assert_in_range(runtime_unwind_bytes_read(f->unwind) - before, 12 * PAGE, 45 * PAGE);
	write_function(f->memory, 0x200);
	for (int i = 0; i < 60; i++)
		look(f, SECOND_NS / 10);
	assert_int_equal(frame_at(f, INSIDE), 0x200);
}

static void code_that_is_gone_cuts_the_stack_too(void **state)
{
	struct fixture *f = *state;

	write_function(f->memory, 0x100);
	sample(f, INSIDE, 0);
	look(f, 0);
	munmap(f->memory, PAGE);
	assert_int_equal(sample(f, INSIDE, 0), MARKER_NO_RULE);
	look(f, SECOND_NS);
	assert_int_equal(frame_at(f, INSIDE), 0);
}

static void a_large_code_cache_is_left_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	memset(f->memory, 0x90, CODE_SIZE);
	for (size_t at = 0; at < CODE_SIZE; at += PAGE)
		write_function(f->memory + at, 0x100);
	for (int round = 0; round < 600; round++) {
		for (int i = 0; i < 20; i++)
			sample(f, (size_t)rand() % (CODE_SIZE / PAGE) * PAGE + INSIDE, 0);
		look(f, SECOND_NS / 10);
	}
	/* in a minute: up to 8 MiB, as looks become rarer */
	before = runtime_unwind_bytes_read(f->unwind);
	assert_in_range(before, 1, 20u << 20);
	for (int round = 0; round < 600; round++) {
		for (int i = 0; i < 20; i++)
			sample(f, (size_t)rand() % (CODE_SIZE / PAGE) * PAGE + INSIDE, 0);
		look(f, SECOND_NS / 10);
	}
	assert_in_range(runtime_unwind_bytes_read(f->unwind) - before, 0, 8u << 20);
	assert_int_equal(frame_at(f, INSIDE), 0);
}

static void a_stack_is_no_code(void **state)
{
	struct fixture *f = *state;

	process_map(&f->process, &(struct mapping){
					 .start = (uintptr_t)f->memory,
					 .end = (uintptr_t)f->memory + CODE_SIZE,
					 .pgoff = 4096,
					 .code = &f->code,
					 .stack = true,
				 });
	write_function(f->memory, 0x100);
	sample(f, INSIDE, 0);
	look(f, 0);
	assert_int_equal(runtime_unwind_bytes_read(f->unwind), 0);
}

static void a_forked_child_has_the_rules_of_its_parent(void **state)
{
	struct fixture *f = *state;
	struct process child = {};

	write_function(f->memory, 0x100);
	sample(f, INSIDE, 0);
	look(f, 0);
	runtime_regions_copy(&child.runtime, &f->process.runtime);
	process_unmap_all(&f->process);
	assert_int_equal(frame_at(f, INSIDE), 0);
	look(f, 10 * SECOND_NS);
	runtime_regions_copy(&f->process.runtime, &child.runtime);
	assert_int_equal(frame_at(f, INSIDE), 0x100);
	process_fini(&child);
}

/* Two small mappings and a code cache: what begins the small ones has rules at once. */
static void small_mappings_are_read_before_a_sample_lands(void **state)
{
	struct fixture *f = *state;
	const uint64_t start = (uintptr_t)f->memory;
	const size_t at[] = { 0, 64u << 10, 1u << 20 };
	const size_t size[] = { 4 * PAGE, 64u << 10, 4u << 20 };

	process_unmap_all(&f->process);
	for (int i = 0; i < 3; i++) {
		write_function(f->memory + at[i], 0x80 + 0x10 * (uint32_t)i);
		process_map(&f->process, &(struct mapping){ .start = start + at[i],
							    .end = start + at[i] + size[i],
							    .code = &f->code });
	}
	look(f, 0);
	assert_int_equal(runtime_unwind_bytes_read(f->unwind), 0);
	expected_code_note(f->unwind, &f->process, f->now_ns);
	look(f, 0);
	assert_int_equal(frame_at(f, at[0] + INSIDE), 0x80);
	assert_int_equal(frame_at(f, at[1] + INSIDE), 0x90);
	assert_int_equal(frame_at(f, at[2] + INSIDE), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(code_has_rules_once_a_sample_was_there),
		TEST(neighbours_in_pages_of_their_own_are_found_with_it),
		TEST(stacks_by_rules_of_other_code_are_cut),
		TEST(code_that_changes_all_the_time_has_no_rules),
		TEST(code_is_compared_without_new_stacks_too),
		TEST(code_that_is_gone_cuts_the_stack_too),
		TEST(a_large_code_cache_is_left_alone),
		TEST(a_stack_is_no_code),
		TEST(a_forked_child_has_the_rules_of_its_parent),
		cmocka_unit_test_setup_teardown(small_mappings_are_read_before_a_sample_lands,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
