/* What several profiles know of processes, where they agree and where they do not. */
#include "core/profile/process_rows.h"

#include <string.h>

#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "tests/unit/unit.h"

/* A profile with one process, of which something is known if `user` is not NULL. */
static struct profile *profile_of(uint32_t pid, const char *user, uint64_t parent)
{
	struct profile *p = profile_new();
	struct sink *sink = profile_sink_new(p);
	struct fact_process row = { .pid = pid, .parent = parent, .uid = 7 };

	profile_thread(p, pid, pid, profile_cstring(p, "x"));
	row.user = profile_cstring(p, user ? user : "");
	row.cgroup = row.container = row.engine = profile_cstring(p, "");
	if (user)
		sink->fact(sink, FACT_PROCESS, &row);
	profile_sink_free(sink);
	return p;
}

/* The users of pid 1 in two or three profiles (NULL: nothing is known) become `want`. */
static void expect(const char *const *users, size_t nr, const char *want, size_t nr_forgotten)
{
	struct process_rows *rows = process_rows_new();
	struct profile *to = profile_new();
	struct sink *sink = profile_sink_new(to);
	const struct fact_process *found;
	size_t nr_found, sum = 0;

	for (size_t i = 0; i < nr; i++) {
		struct profile *p = profile_of(1, users[i], 100 + i);

		sum += process_rows_add(rows, p, to, NULL);
		profile_free(p);
	}
	process_rows_write(rows, to, sink);
	found = facts_rows(to, FACT_PROCESS, &nr_found);
	assert_int_equal(nr_found, want ? 1 : 0);
	if (want)
		assert_string_equal(profile_str(to, (uint32_t)found[0].user), want);
	assert_int_equal(sum, nr_forgotten);
	profile_sink_free(sink);
	process_rows_free(rows);
	profile_free(to);
}

static void what_profiles_agree_on_is_kept(void **state)
{
	(void)state;
	expect((const char *const[]){ "ann", "ann" }, 2, "ann", 0);
}

static void a_process_of_two_users_is_not_known(void **state)
{
	(void)state;
	expect((const char *const[]){ "ann", "bob" }, 2, NULL, 1);
	expect((const char *const[]){ "ann", "bob", "ann" }, 3, NULL, 1);
}

static void a_profile_that_knows_nothing_of_a_process_contradicts_one_that_does(void **state)
{
	(void)state;
	expect((const char *const[]){ "ann", NULL }, 2, NULL, 1);
	expect((const char *const[]){ NULL, "ann" }, 2, NULL, 0);
	expect((const char *const[]){ NULL, NULL }, 2, NULL, 0);
}

static void processes_of_one_profile_only_are_kept(void **state)
{
	struct process_rows *rows = process_rows_new();
	struct profile *to = profile_new(), *a = profile_of(1, "ann", 0),
		       *b = profile_of(2, "bob", 0), *c = profile_of(3, NULL, 0);
	struct sink *sink = profile_sink_new(to);
	size_t nr;

	(void)state;
	assert_int_equal(process_rows_add(rows, a, to, NULL) + process_rows_add(rows, b, to, NULL) +
				 process_rows_add(rows, c, to, NULL),
			 0);
	process_rows_write(rows, to, sink);
	facts_rows(to, FACT_PROCESS, &nr);
	assert_int_equal(nr, 2);
	profile_sink_free(sink);
	process_rows_free(rows);
	profile_free(a);
	profile_free(b);
	profile_free(c);
	profile_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_profiles_agree_on_is_kept),
		cmocka_unit_test(a_process_of_two_users_is_not_known),
		cmocka_unit_test(
			a_profile_that_knows_nothing_of_a_process_contradicts_one_that_does),
		cmocka_unit_test(processes_of_one_profile_only_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
