/*
 * Rows of samples inside kernels become samples and facts. The expected numbers are those that the
 * test itself put into the region.
 */
#include "tests/unit/gpu_setup.h"

#include "core/profile/gpu_kinds.h"

#define STALLED "smsp__pcsamp_warps_issue_stalled_"

static struct gpu_pc_row *row_at(struct setup *s, uint32_t i)
{
	return (struct gpu_pc_row *)test_area(&s->region, &s->region.header->pc_rows) + i;
}

static struct gpu_pc_row *add_row(struct setup *s, uint32_t i, uint64_t pc, const char *stall,
				  uint64_t samples)
{
	struct gpu_pc_row *row = row_at(s, i);

	*row = (struct gpu_pc_row){
		.used = 1,
		.function = test_string(&s->region, "_Z4gemmPf"),
		.cubin = 0xc0de,
		.pc = pc,
		.stall = test_string(&s->region, stall),
		.line_state = GPU_PC_LINE_NONE,
		.samples = samples,
	};
	return row;
}

static void set_line(struct setup *s, struct gpu_pc_row *row, uint32_t line)
{
	row->file = test_string(&s->region, "/src/train/model.cu");
	row->line = line;
	row->line_state = GPU_PC_LINE_KNOWN;
}

static const struct fact_gpu_pc *facts_of(struct setup *s, size_t *ret_nr)
{
	return facts_rows(s->p, FACT_GPU_PC, ret_nr);
}

static void samples_hang_under_the_kernel_its_line_and_the_reason(void **state)
{
	static const uint64_t frames[] = { 0x9001, 0x2001, 0x1001 };
	struct setup s = { 0 };
	const struct fact_gpu_pc *f;
	struct gpu_pc_row *row;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	row = add_row(&s, 0, 0x40, STALLED "long_scoreboard", 7);
	row->idle_samples = 5;
	row->stack = test_stack(&s.region, frames, 3, END_ROOT);
	set_line(&s, row, 12);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	assert_string_equal(name_stack(s.p, sample_in(s.p, COLUMN_GPU_SAMPLES)),
			    "train+0x1000;train+0x2000;gemm(float*);model.cu:12;long_scoreboard");
	assert_int_equal(sum_of(s.p, COLUMN_GPU_SAMPLES), 7);
	f = facts_of(&s, &nr);
	assert_int_equal(nr, 1);
	assert_string_equal(profile_str(s.p, (uint32_t)f->kernel), "gemm(float*)");
	assert_string_equal(profile_str(s.p, (uint32_t)f->stall), "long_scoreboard");
	assert_string_equal(profile_str(s.p, (uint32_t)f->file), "/src/train/model.cu");
	assert_int_equal(f->line, 12);
	assert_int_equal(f->samples, 7);
	assert_int_equal(f->idle_samples, 5);
	finish(&s);
}

static void without_a_launch_and_a_line_there_are_kernel_and_instruction(void **state)
{
	struct setup s = { 0 };

	(void)state;
	test_region_init(&s.region);
	add_row(&s, 0, 0x1f0, "stall of another name", 3);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	assert_string_equal(name_stack(s.p, sample_in(s.p, COLUMN_GPU_SAMPLES)),
			    "gemm(float*);pc+0x1f0;stall of another name");
	finish(&s);
}

static void rows_of_two_launches_are_one_fact(void **state)
{
	static const uint64_t frames[] = { 0x9001, 0x2001, 0x1001 };
	struct setup s = { 0 };
	const struct fact_gpu_pc *f;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	add_row(&s, 0, 0x40, STALLED "wait", 3);
	add_row(&s, 1, 0x40, STALLED "wait", 4)->stack = test_stack(&s.region, frames, 3, END_ROOT);
	add_row(&s, 2, 0x50, STALLED "wait", 5);
	start(&s);
	gpu_collect_finish(s.c, 1000);
	f = facts_of(&s, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(f[0].samples, 7);
	assert_int_equal(f[1].samples, 5);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_SAMPLES), 12);
	finish(&s);
}

static void rows_wait_for_their_line_but_not_beyond_the_end(void **state)
{
	struct setup s = { 0 };
	struct gpu_pc_row *first, *second;
	size_t nr;

	(void)state;
	test_region_init(&s.region);
	first = add_row(&s, 0, 0x40, STALLED "wait", 3);
	second = add_row(&s, 1, 0x50, STALLED "wait", 4);
	first->line_state = second->line_state = GPU_PC_LINE_AWAITED;
	start(&s);
	gpu_collect_drain(s.c, 1000);
	gpu_collect_drain(s.c, 5000000000);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_SAMPLES), 0);
	set_line(&s, first, 8);
	first->samples = 10;
	gpu_collect_drain(s.c, 10000000000);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_SAMPLES), 10);
	first->samples = 11;
	gpu_collect_finish(s.c, 11000000000);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_SAMPLES), 15);
	facts_of(&s, &nr);
	assert_int_equal(nr, 2);
	finish(&s);
}

static void rows_that_shrink_jump_or_make_no_sense_are_refused(void **state)
{
	struct setup s = { 0 };
	struct gpu_pc_row *row;

	(void)state;
	test_region_init(&s.region);
	add_row(&s, 0, 0x40, STALLED "wait", 3);
	add_row(&s, 1, 0x50, STALLED "wait", UINT64_MAX - 1);
	add_row(&s, 2, 0x60, STALLED "wait", 4)->idle_samples = 1ull << 60;
	add_row(&s, 3, 0x70, STALLED "wait", 5)->line_state = 77;
	row = add_row(&s, 4, 0x80, STALLED "wait", 6); /* strings and stacks beyond their arenas */
	row->function = row->stall = row->file = row->stack = 0x7fffffff;
	row->range = 0x7fffffff;
	row->line_state = GPU_PC_LINE_KNOWN;
	start(&s);
	gpu_collect_drain(s.c, 1000);
	gpu_collect_drain(s.c, 5000000000);
	row_at(&s, 0)->samples = 2;
	gpu_collect_finish(s.c, 10000000000);
	assert_int_equal(sum_of(s.p, COLUMN_GPU_SAMPLES), 9);
	assert_true(facts_count(s.p, "samples that made no sense") >= 3);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_hang_under_the_kernel_its_line_and_the_reason),
		cmocka_unit_test(without_a_launch_and_a_line_there_are_kernel_and_instruction),
		cmocka_unit_test(rows_of_two_launches_are_one_fact),
		cmocka_unit_test(rows_wait_for_their_line_but_not_beyond_the_end),
		cmocka_unit_test(rows_that_shrink_jump_or_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
