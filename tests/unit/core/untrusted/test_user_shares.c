/* No user fills a table that all share, and what is given back can be taken again. */
#include "tests/unit/unit.h"

#include "core/untrusted/user_shares.h"

static void one_user_gets_half(void **state)
{
	struct user_shares s;

	(void)state;
	user_shares_init(&s, 100);
	assert_int_equal(user_shares_take(&s, 1000, 50), SHARE_TAKEN);
	assert_int_equal(user_shares_take(&s, 1000, 1), SHARE_USER_FULL);
	assert_int_equal(user_shares_take(&s, 1000, 0), SHARE_TAKEN);
	user_shares_give(&s, 1000, 50);
	assert_null(s.by_user);
	assert_int_equal(user_shares_take(&s, 1000, 51), SHARE_USER_FULL);
	assert_int_equal(user_shares_take(&s, 1000, 50), SHARE_TAKEN);
	user_shares_fini(&s);
}

static void all_users_together_leave_a_quarter_to_root(void **state)
{
	struct user_shares s;

	(void)state;
	user_shares_init(&s, 100);
	for (uint32_t user = 1; user <= 75; user++)
		assert_int_equal(user_shares_take(&s, user, 1), SHARE_TAKEN);
	assert_int_equal(user_shares_take(&s, 76, 1), SHARE_FULL);
	assert_int_equal(user_shares_take(&s, 1, 1), SHARE_FULL);
	assert_int_equal(user_shares_take(&s, 0, 25), SHARE_TAKEN);
	assert_int_equal(user_shares_take(&s, 0, 1), SHARE_FULL);
	user_shares_give(&s, 7, 1);
	assert_int_equal(user_shares_take(&s, 76, 1), SHARE_TAKEN);
	user_shares_fini(&s);
}

static void root_leaves_a_quarter_to_others(void **state)
{
	struct user_shares s;

	(void)state;
	user_shares_init(&s, 100);
	assert_int_equal(user_shares_take(&s, 0, 75), SHARE_TAKEN);
	assert_int_equal(user_shares_take(&s, 0, 1), SHARE_USER_FULL);
	assert_int_equal(user_shares_take(&s, 5, 25), SHARE_TAKEN);
	assert_int_equal(user_shares_take(&s, 5, UINT64_MAX), SHARE_FULL);
	user_shares_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_gets_half),
		cmocka_unit_test(all_users_together_leave_a_quarter_to_root),
		cmocka_unit_test(root_leaves_a_quarter_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
