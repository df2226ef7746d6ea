/* core/rights/debug_trust.c: who could have written a debug file, by its owner and mode. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rights/safe_open.h"
#include "core/rights/debug_trust.h"

static int new_file(mode_t mode)
{
	char path[] = "/tmp/debug_trust.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(fchmod(fd, mode), 0);
	return fd;
}

/* May a debug file of `mode` be used for a module of `module_mode`? Both are this process's. */
static bool is_allowed(mode_t module_mode, mode_t mode, bool own_root, bool for_probes)
{
	int module = new_file(module_mode), file = new_file(mode);
	int own = safe_open_root_of(0), root = own_root ? safe_open_root_of(getpid()) : -1;
	struct debug_trust trust = debug_trust_new(module, root, own, for_probes);
	bool allowed = debug_trust_allows(&trust, file);

	assert_int_equal(trust.is_own_root, own_root);
	close(own);
	if (root >= 0)
		close(root);
	close(module);
	close(file);
	return allowed;
}

static void a_file_of_the_owner_is_used_if_no_other_can_write_it(void **state)
{
	(void)state;
	assert_true(is_allowed(0644, 0644, false, false));
	assert_true(is_allowed(0600, 0600, false, false));
	assert_false(is_allowed(0644, 0646, false, false));
	assert_false(is_allowed(0644, 0664, false, false));
	assert_true(is_allowed(0664, 0664, false, false));
	assert_false(is_allowed(0666, 0666, false, false));
	assert_true(is_allowed(0644, 0644, true, true));
	assert_false(is_allowed(0644, 0646, true, true));
}

static void for_names_all_files_of_the_own_root_are_used(void **state)
{
	(void)state;
	assert_true(is_allowed(0644, 0666, true, false));
}

static void probes_need_an_owner_that_containers_do_not_share(void **state)
{
	(void)state;
	assert_int_equal(is_allowed(0644, 0644, false, true), geteuid() != 0);
}

static void without_a_module_only_files_of_root_are_used(void **state)
{
	const struct debug_trust trust = { .for_probes = false };
	int file = new_file(0644);

	(void)state;
	assert_int_equal(debug_trust_allows(&trust, file), geteuid() == 0);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_the_owner_is_used_if_no_other_can_write_it),
		cmocka_unit_test(for_names_all_files_of_the_own_root_are_used),
		cmocka_unit_test(probes_need_an_owner_that_containers_do_not_share),
		cmocka_unit_test(without_a_module_only_files_of_root_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
