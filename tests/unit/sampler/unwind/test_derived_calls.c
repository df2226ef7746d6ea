/* Derived rules behind calls: whether the function that is called returns. */
#include "tests/unit/unit.h"
#include "tests/unit/derived_fixture.h"

/* It is not known yet that a function returns that lies behind the one that calls it. */
static void a_part_in_front_has_rules_behind_its_calls(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0x2b, 0,	  0,	0,    0xeb, 0x0f, 0xcc, /* 0 call 48; 5 jmp 22 */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x53, 0x85, 0xff, 0x74, 0xeb,
		0x90, 0x5b, 0xc3, /* 16 push %rbx; 19 je 0; 22 pop */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xc3, /* 48 ret */
	};
	struct derived_rules *rules = find_from(code, sizeof(code), ENTRIES(16, 48));

	(void)state;
	check(rules, 0, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 5, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	check(rules, 22, WALK_CFA_SP, 16, WALK_FP_SAME, 0);
	derived_rules_free(rules);
}

static bool is_own_slot(void *context, uint64_t vaddr)
{
	return vaddr == *(const uint64_t *)context;
}

/* A word that the loader fills with a function of the same file (IFUNC) is no import. */
static void a_function_chosen_by_the_loader_returns(void **state)
{
	/* 0 push %rbx; 1 call 16; 6 nop; 7 jmp 1; 16 jmp *0x1234(%rip) */
	static const uint8_t code[] = { 0x53, 0xe8, 10,	  0,	0,    0,    0x90, 0xeb,
					0xf8, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
					0xff, 0x25, 0x34, 0x12, 0,    0,    0xcc, 0xcc };
	uint64_t slot = 0x1000 + 22 + 0x1234;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct derived_text text = text_of(code, sizeof(code));
		struct derived_rules *rules;

		text.is_own_slot = is_own_slot;
		text.context = &slot;
		rules = derived_rules_new(&text);
		derived_rules_add_hint(rules, 0);
		derived_rules_add_entry(rules, 16);
		derived_rules_find(rules);
		check(rules, 16, WALK_CFA_SP, 8, WALK_FP_SAME, 0);
		assert_int_equal(rule_at(rules, 6).cfa, i ? WALK_CFA_NONE : WALK_CFA_SP);
		derived_rules_free(rules);
		slot++;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_in_front_has_rules_behind_its_calls),
		cmocka_unit_test(a_function_chosen_by_the_loader_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
