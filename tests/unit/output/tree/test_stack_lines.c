/* output/tree/stack_lines.c: which samples share a line, where stacks have many samples each. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/functions.h"
#include "output/tree/stack_lines.h"

static uint32_t add_stack(struct profile *p, char name)
{
	uint32_t frame = profile_named_frame(p, &name, 1, FUNCTION_NATIVE);

	return profile_stack(p, &frame, 1);
}

/* Adds a sample of a thread with the name of that number; 0: without a thread. */
static void add_sample(struct profile *p, uint32_t stack, uint32_t name)
{
	uint32_t thread = PROFILE_NONE;
	char comm[16];

	snprintf(comm, sizeof(comm), "name %u", name);
	if (name)
		thread = profile_thread(p, 1, 1, profile_cstring(p, comm));
	profile_add_sample(p, &(struct profile_sample){
				      .weight = 10,
				      .thread = thread,
				      .stack = stack,
				      .column = COLUMN_CPU,
			      });
}

static void a_stack_has_a_line_for_each_thread_name(void **state)
{
	enum { NR = 3000, NR_STACKS = 3, NR_NAMES = 50 };
	uint32_t numbers[NR], line_of[NR_STACKS][NR_NAMES], stacks[NR_STACKS], nr_lines = 0;
	uint64_t nr_samples[NR_STACKS * NR_NAMES] = { 0 };
	struct profile *p = profile_new();
	struct tree_functions functions;
	struct tree_lines lines;

	(void)state;
	memset(line_of, 0xff, sizeof(line_of));
	for (uint32_t i = 0; i < NR_STACKS; i++)
		stacks[i] = add_stack(p, (char)('a' + i));
	for (uint32_t i = 0; i < NR; i++)
		add_sample(p, stacks[i % NR_STACKS], i * 7 % NR_NAMES);
	assert_int_equal(tree_lines_init(&lines, p, COLUMN_CPU, false, &functions, numbers), 0);
	for (uint32_t i = 0; i < NR; i++) {
		uint32_t *line = &line_of[i % NR_STACKS][i * 7 % NR_NAMES];

		if (*line == UINT32_MAX) /* lines are in the order of their first samples */
			*line = nr_lines++;
		assert_int_equal(numbers[i], *line);
		nr_samples[*line]++;
	}
	assert_int_equal(nr_lines, NR_STACKS * NR_NAMES);
	assert_int_equal(lines.nr, nr_lines);
	for (uint32_t i = 0; i < nr_lines; i++) {
		assert_int_equal(tree_lines_share(&lines, i).weight, 10 * nr_samples[i]);
		assert_int_equal(tree_lines_share(&lines, i).events, nr_samples[i]);
	}
	tree_lines_fini(&lines);
	tree_functions_fini(&functions);
	profile_free(p);
}

/* A walk over all names of the stack at each sample would take half an hour. */
static void a_new_thread_name_at_every_sample_is_no_slower(void **state)
{
	enum { NR = 1000000 };
	uint32_t *numbers = xcalloc(NR, sizeof(*numbers)), stack;
	struct profile *p = profile_new();
	struct tree_functions functions;
	struct tree_lines lines;

	(void)state;
	stack = add_stack(p, 'a');
	for (uint32_t i = 0; i < NR; i++)
		add_sample(p, stack, i + 1);
	assert_int_equal(tree_lines_init(&lines, p, COLUMN_CPU, false, &functions, numbers), 0);
	assert_int_equal(lines.nr, NR);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(numbers[i], i);
	tree_lines_fini(&lines);
	tree_functions_fini(&functions);
	profile_free(p);
	free(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_a_line_for_each_thread_name),
		cmocka_unit_test(a_new_thread_name_at_every_sample_is_no_slower),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
