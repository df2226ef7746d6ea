/* Mounts for which users answer are told from all others by the kernel's lists. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/rights/own_mounts.h"

#define OTHER_USER "4000000000"

static const char mountinfo[] =
	"22 27 0:21 / /proc rw,relatime - proc proc rw\n"
	"27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
	"30 27 0:40 / /root/own rw - fuse.sshfs host:/ rw,user_id=0,group_id=0,allow_other\n"
	"31 27 0:41 / /home/a\\040-\\040fuse rw - tmpfs user_id=" OTHER_USER " rw\n"
	"310 27 0:42 / /home/b rw - fuse.a ,user_id=0,x rw,user_id=" OTHER_USER ",group_id=0\n";

static struct mount_facts facts_of(const char *text, int number)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct mount_facts facts;

	assert_non_null(f);
	facts = mount_facts_read(f, number);
	fclose(f);
	return facts;
}

static void fuse_of_another_user_is_served(void **state)
{
	struct mount_facts facts = facts_of(mountinfo, 310);

	(void)state;
	assert_true(facts.is_listed);
	assert_true(facts.is_served);
	assert_true(facts.has_served);
}

static void other_mounts_are_not(void **state)
{
	static const int numbers[] = { 22, 27, 30, 31 };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct mount_facts facts = facts_of(mountinfo, numbers[i]);

		assert_true(facts.is_listed);
		assert_false(facts.is_served);
		assert_true(facts.has_served); /* the other one */
	}
}

static void number_that_is_not_listed_is_unknown(void **state)
{
	(void)state;
	assert_false(facts_of(mountinfo, 3).is_listed);
	assert_false(facts_of(mountinfo, 3100).is_listed);
	assert_false(facts_of("no mountinfo at all\n", 1).is_listed);
}

static void memory_of_the_kernel_is_trusted(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	/* Its mount is in no list. */
	assert_false(mount_facts_own(mount_number(fd)).is_listed);
	assert_int_equal(mount_trust(fd), MOUNT_TRUSTED);
	close(fd);
}

static void own_files_are_trusted(void **state)
{
	static const char *const paths[] = { "/", "/proc/self/exe", "/proc/self/maps",
					     "/dev/null" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_PATH | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_int_equal(mount_trust(fd), MOUNT_TRUSTED);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuse_of_another_user_is_served),
		cmocka_unit_test(other_mounts_are_not),
		cmocka_unit_test(number_that_is_not_listed_is_unknown),
		cmocka_unit_test(memory_of_the_kernel_is_trusted),
		cmocka_unit_test(own_files_are_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
