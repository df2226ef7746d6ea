/*
 * The pool keeps a rule as long as a table names it, and neither a file nor a user can fill it.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/unwind/rule_pool.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

#define USER 1000

struct fixture {
	struct walk_rule *rules;
	struct rule_pool *pool;
};

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->rules = xcalloc(WALK_NR_RULES, sizeof(*f->rules));
	f->pool = rule_pool_new(f->rules);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	rule_pool_free(f->pool);
	free(f->rules);
	free(f);
	return 0;
}

/* A table of one page for each rule, whose rules begin at cfa_off `first`. */
static enum rule_refusal adopt(struct fixture *f, uint32_t user, int32_t first, uint32_t nr,
			       struct unwind_table *table, struct rule_claim *claim)
{
	struct rule_set *set = rule_set_new();
	enum rule_refusal result;

	*table = (struct unwind_table){ .nr_pages = nr, .pages = xcalloc(nr, sizeof(uint32_t)) };
	for (uint32_t i = 0; i < nr; i++) {
		struct walk_rule rule = { .cfa = WALK_CFA_SP, .cfa_off = first + (int32_t)i };

		rule_set_intern(set, rule, &table->pages[i]);
		table->pages[i] |= WALK_ONE_RULE;
	}
	result = rule_pool_adopt(f->pool, user, set, table, claim);
	rule_set_free(set);
	return result;
}

/* How many rules have had a place at the same time, the fixed ones included. */
static uint32_t places_used(const struct fixture *f)
{
	uint32_t nr = WALK_NR_RULES;

	while (nr && !f->rules[nr - 1].cfa_off)
		nr--;
	return nr;
}

static void check(const struct fixture *f, const struct unwind_table *table, uint32_t page,
		  int32_t cfa_off)
{
	const struct walk_rule *rule = &f->rules[walk_row_rule(table->pages[page])];

	assert_int_equal(rule->cfa, WALK_CFA_SP);
	assert_int_equal(rule->cfa_off, cfa_off);
}

static void equal_rules_of_two_tables_are_one(void **state)
{
	struct fixture *f = *state;
	struct unwind_table a, b, c, d;
	struct rule_claim of_a, of_b, of_c, of_d;

	assert_int_equal(adopt(f, USER, 100, 10, &a, &of_a), RULES_GRANTED);
	assert_int_equal(adopt(f, USER, 105, 10, &b, &of_b), RULES_GRANTED);
	assert_int_equal(places_used(f), WALK_FIRST_RULE + 15);
	assert_int_equal(a.pages[5], b.pages[0]);
	rule_pool_release(f->pool, &of_a);
	assert_int_equal(adopt(f, USER, 200, 5, &c, &of_c), RULES_GRANTED);
	for (uint32_t i = 0; i < 10; i++)
		check(f, &b, i, 105 + (int32_t)i);
	rule_pool_release(f->pool, &of_b);
	assert_int_equal(adopt(f, USER, 300, 10, &d, &of_d), RULES_GRANTED);
	assert_int_equal(places_used(f), WALK_FIRST_RULE + 15);
	rule_pool_release(f->pool, &of_c);
	rule_pool_release(f->pool, &of_d);
	free(a.pages);
	free(b.pages);
	free(c.pages);
	free(d.pages);
}

static void numbers_are_used_again(void **state)
{
	struct fixture *f = *state;

	for (int32_t i = 0; i < 200; i++) {
		struct unwind_table table;
		struct rule_claim claim;

		assert_int_equal(adopt(f, USER, i * 5000, 5000, &table, &claim), RULES_GRANTED);
		check(f, &table, 4999, i * 5000 + 4999);
		rule_pool_release(f->pool, &claim);
		assert_null(claim.numbers);
		free(table.pages);
	}
	assert_int_equal(places_used(f), WALK_FIRST_RULE + 5000);
}

static void a_file_gets_its_share_and_the_rest_says_so(void **state)
{
	struct fixture *f = *state;
	struct unwind_table table;
	struct rule_claim claim;

	assert_int_equal(adopt(f, USER, 0, RULES_PER_FILE + 1, &table, &claim), RULES_OVER_FILE);
	check(f, &table, RULES_PER_FILE - 1, RULES_PER_FILE - 1);
	assert_int_equal(walk_row_rule(table.pages[RULES_PER_FILE]), WALK_RULE_OVER_LIMIT);
	assert_int_equal(f->rules[WALK_RULE_OVER_LIMIT].cfa, WALK_CFA_OVER_LIMIT);
	rule_pool_release(f->pool, &claim);
	free(table.pages);
}

static void a_user_leaves_rules_to_others(void **state)
{
	struct fixture *f = *state;
	struct unwind_table tables[9];
	struct rule_claim claims[9];
	enum rule_refusal result = RULES_GRANTED;

	for (int i = 0; i < 8; i++)
		result = adopt(f, USER, i * 8000, 8000, &tables[i], &claims[i]);
	assert_int_equal(result, RULES_OVER_USER);
	assert_in_range(places_used(f), 30000, WALK_MAX_RULES / 2 + WALK_FIRST_RULE);
	/* rules that are there already cost nothing */
	assert_int_equal(adopt(f, USER + 1, 0, 8000, &tables[8], &claims[8]), RULES_GRANTED);
	rule_pool_release(f->pool, &claims[8]);
	free(tables[8].pages);
	assert_int_equal(adopt(f, USER + 1, 90000, 8000, &tables[8], &claims[8]), RULES_GRANTED);
	check(f, &tables[8], 7999, 97999);
	for (int i = 0; i < 9; i++) {
		rule_pool_release(f->pool, &claims[i]);
		free(tables[i].pages);
	}
	assert_int_equal(adopt(f, USER, 100000, 8000, &tables[0], &claims[0]), RULES_GRANTED);
	rule_pool_release(f->pool, &claims[0]);
	free(tables[0].pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_rules_of_two_tables_are_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(numbers_are_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_gets_its_share_and_the_rest_says_so, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_user_leaves_rules_to_others, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
