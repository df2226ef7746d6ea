/* The user's cache: only a folder that nobody else could change is used. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rights/cache_folder.h"

static void a_folder_that_others_could_change_is_refused(void **state)
{
	char above[64] = "/tmp/cache_folder.XXXXXX", ours[100], elsewhere[100], why[4200];
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(above));
	snprintf(ours, sizeof(ours), "%s/sprof", above);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", above);
	setenv("XDG_CACHE_HOME", above, 1);
	fd = cache_folder_open(why, sizeof(why));
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	close(fd);
	assert_int_equal(chmod(ours, 0750), 0);
	assert_int_equal(cache_folder_open(why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, ours));
	assert_int_equal(chmod(ours, 0700), 0);
	assert_int_equal(chmod(above, 0770), 0);
	assert_int_equal(cache_folder_open(why, sizeof(why)), -EPERM);
	assert_int_equal(chmod(above, 0700), 0);
	assert_int_equal(rename(ours, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, ours), 0);
	assert_true(cache_folder_open(why, sizeof(why)) < 0);
	assert_int_equal(unlink(ours), 0);
	if (!geteuid()) {
		assert_int_equal(rename(elsewhere, ours), 0);
		assert_int_equal(chown(ours, 65534, 65534), 0);
		assert_int_equal(cache_folder_open(why, sizeof(why)), -EPERM);
		assert_non_null(strstr(why, "another user"));
		assert_int_equal(chown(ours, 0, 0), 0);
		assert_int_equal(chown(above, 65534, 65534), 0);
		assert_int_equal(cache_folder_open(why, sizeof(why)), -EPERM);
	}
	rmdir(ours);
	rmdir(elsewhere);
	rmdir(above);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(cache_folder_open(why, sizeof(why)), -ENOENT);
}

/* As with sudo, which may leave the user's HOME to root. */
static void root_makes_no_folder_in_the_home_of_a_user(void **state)
{
	char home[64] = "/tmp/cache_home.XXXXXX", cache[100], roots[100], why[4200];

	(void)state;
	if (geteuid()) {
		print_message("needs root, to give a folder to another user\n");
		skip();
	}
	assert_non_null(mkdtemp(home));
	snprintf(cache, sizeof(cache), "%s/.cache", home);
	snprintf(roots, sizeof(roots), "%s/roots", home);
	assert_int_equal(chown(home, 65534, 65534), 0);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", home, 1);
	assert_int_equal(cache_folder_open(why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, "another user"));
	assert_int_equal(access(cache, F_OK), -1);
	assert_int_equal(mkdir(roots, 0700), 0); /* stands for any folder of root's */
	assert_int_equal(symlink(roots, cache), 0);
	assert_int_equal(cache_folder_open(why, sizeof(why)), -EPERM);
	assert_int_equal(rmdir(roots), 0); /* it is empty */
	assert_int_equal(unlink(cache), 0);
	assert_int_equal(rmdir(home), 0);
	unsetenv("HOME");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_that_others_could_change_is_refused),
		cmocka_unit_test(root_makes_no_folder_in_the_home_of_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
