/*
 * Runtime code that brings its own call frame information: that of allocation hooks, whole and
 * broken. tests/unit/sampler/alloc/test_stub_frame.c looks at the rules themselves.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "core/portable/described_code.h"
#include "sampler/attach/payload.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

#define NR_BROKEN 2000

/* Builds the table of a copy of that size, so that ASan detects a read past the end. */
static int build(const uint8_t *code, size_t size, struct rule_set *rules,
		 struct unwind_table **ret_table)
{
	uint8_t *copy = malloc(size);
	int err;

	memcpy(copy, code, size);
	err = unwind_table_build_code(copy, size, rules, ret_table);
	free(copy);
	return err;
}

/* Functions ascend and do not overlap, and each place has a rule of the set. */
static void check_table(const struct unwind_table *table, size_t size, struct rule_set *rules)
{
	uint32_t end = 0, nr;

	rule_set_rules(rules, &nr);
	for (uint32_t i = 0; i < table->nr_functions; i++) {
		assert_true(table->functions[i].start >= end);
		assert_true(table->functions[i].start < table->functions[i].end);
		end = table->functions[i].end;
	}
	assert_true(end <= size);
	for (uint64_t at = 0; at < size + 2048; at += 3)
		assert_true(unwind_table_find(table, at) < (at < size ? nr : 1));
}

static void code_with_frames_has_rules_for_its_functions(void **state)
{
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table;

	(void)state;
	assert_int_equal(build(alloc_payload_bin, alloc_payload_bin_size, rules, &table), 0);
	assert_in_range(table->nr_functions, 20, 1000);
	check_table(table, alloc_payload_bin_size, rules);
	unwind_table_free(table);
	rule_set_free(rules);
}

static void a_head_that_leads_nowhere_gives_no_rules(void **state)
{
	struct described_code head = { .magic = DESCRIBED_CODE_MAGIC };
	struct rule_set *rules = rule_set_new();
	uint8_t code[256] = { 0 };
	struct unwind_table *table;

	(void)state;
	for (uint32_t at = 1; at < 3 * sizeof(code); at++) {
		head.eh_frame = at;
		memcpy(code, &head, sizeof(head));
		assert_int_equal(build(code, sizeof(code), rules, &table), -ENODATA);
	}
	assert_int_equal(build(code, sizeof(head) - 1, rules, &table), -ENODATA);
	rule_set_free(rules);
}

/* Bytes of the frames are changed at random, and the code is cut off at random. */
static void broken_frames_do_no_harm(void **state)
{
	uint8_t *code = malloc(alloc_payload_bin_size);
	struct described_code head;
	unsigned int nr_built = 0;

	(void)state;
	srand(1);
	memcpy(&head, alloc_payload_bin, sizeof(head));
	for (int i = 0; i < NR_BROKEN; i++) {
		struct rule_set *rules = rule_set_new();
		size_t size = alloc_payload_bin_size;
		struct unwind_table *table;

		memcpy(code, alloc_payload_bin, size);
		for (int k = rand() % 8; k >= 0; k--)
			code[head.eh_frame + (size_t)rand() % (size - head.eh_frame)] =
				(uint8_t)rand();
		size -= rand() % 2 ? 0 : (size_t)rand() % (size - head.eh_frame);
		if (!build(code, size, rules, &table)) {
			check_table(table, size, rules);
			unwind_table_free(table);
			nr_built++;
		}
		rule_set_free(rules);
	}
	assert_in_range(nr_built, NR_BROKEN / 2, NR_BROKEN);
	free(code);
}

int main(void)
{
	const struct CMUnitTest unit_tests[] = {
		cmocka_unit_test(code_with_frames_has_rules_for_its_functions),
		cmocka_unit_test(a_head_that_leads_nowhere_gives_no_rules),
		cmocka_unit_test(broken_frames_do_no_harm),
	};

	return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
