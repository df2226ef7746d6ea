/* core/portable/walk_step.h: steps up a made-up stack by frame pointers, where there is no rule. */
#include "core/portable/walk_step.h"

#include "tests/unit/unit.h"

#define BASE 0x7000u

static __always_inline int walk_read(void *ctx, __u64 address, __u64 *ret)
{
	const __u64 *words = ctx;

	if (address < BASE || address >= BASE + 64 || (address & 7))
		return -1;
	*ret = words[(address - BASE) / 8];
	return 0;
}

static const struct walk_rule none = { .cfa = WALK_CFA_NONE };

static void frame_pointer_leads_to_the_caller(void **state)
{
	__u64 words[8] = { [2] = 0x7030, [3] = 0x1234 };
	struct walk_regs regs = { .pc = 0x1000, .sp = BASE, .fp = BASE + 16, .exact = 1 };

	(void)state;
	assert_int_equal(walk_apply(&none, &regs, words), WALK_OK);
	assert_int_equal(regs.pc, 0x1234);
	assert_int_equal(regs.sp, BASE + 32);
	assert_int_equal(regs.fp, 0x7030);
	assert_false(regs.exact);
}

/*
 * A leaf may keep anything in that register, as tests/targets/nocfi.c does: zeros at the address of
 * its buffer do not mark the root of a stack.
 */
static void zeros_below_a_leaf_are_not_the_root(void **state)
{
	__u64 words[8] = { 0 };
	struct walk_regs regs = { .pc = 0x1000, .sp = BASE, .fp = BASE + 16, .exact = 1 };

	(void)state;
	assert_int_equal(walk_apply(&none, &regs, words), WALK_NO_RULE);
}

static void return_address_of_zero_ends_a_chain(void **state)
{
	__u64 words[8] = { 0 };
	struct walk_regs regs = { .pc = 0x1000, .sp = BASE, .fp = BASE + 16, .exact = 0 };

	(void)state;
	assert_int_equal(walk_apply(&none, &regs, words), WALK_END);
	regs.fp = 0;
	assert_int_equal(walk_apply(&none, &regs, words), WALK_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_pointer_leads_to_the_caller),
		cmocka_unit_test(zeros_below_a_leaf_are_not_the_root),
		cmocka_unit_test(return_address_of_zero_ends_a_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
