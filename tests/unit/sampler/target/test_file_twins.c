/*
 * Files of btrfs, whose mappings do not tell subvolumes apart: any user can have a file with the
 * device and inode of somebody else's.
 */
// BUILD: -Wl,--wrap=fstat64 -Wl,--wrap=fstatfs64
#include "tests/unit/unit.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/log.h"
#include "sampler/target/mapped_file.h"

#define TWIN_INODE 77

int __real_fstat64(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st);
int __real_fstatfs64(int fd, struct statfs *fs);
int __wrap_fstatfs64(int fd, struct statfs *fs);

static bool is_btrfs;

int __wrap_fstat64(int fd, struct stat *st)
{
	int err = __real_fstat64(fd, st);

	if (!err && S_ISREG(st->st_mode))
		st->st_ino = TWIN_INODE;
	return err;
}

int __wrap_fstatfs64(int fd, struct statfs *fs)
{
	int err = __real_fstatfs64(fd, fs);

	if (!err && is_btrfs)
		fs->f_type = BTRFS_SUPER_MAGIC;
	return err;
}

static char folder[] = "/tmp/test_file_twins.XXXXXX";

static int make_files(void **state)
{
	(void)state;
	log_set_level(LOG_QUIET);
	return !mkdtemp(folder) || chdir(folder) || system("echo theirs >theirs; echo own >own");
}

static int remove_files(void **state)
{
	(void)state;
	return unlink("theirs") || unlink("own") || rmdir(folder);
}

static struct mapped_file *map(struct file_table *t, uint64_t dev, uint32_t user, const char *name,
			       bool *ret_new)
{
	char path[64];
	const struct file_mapping m = {
		.pid = getpid(),
		.user = user,
		.start = 0x1000,
		.end = 0x2000,
		.dev = dev,
		.ino = TWIN_INODE,
		.path = path,
	};

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return file_table_add(t, &m, ret_new);
}

static void expect_text(const struct mapped_file *file, const char *text)
{
	char got[16] = "";

	assert_true(pread(file->fd, got, sizeof(got) - 1, 0) > 0);
	assert_string_equal(got, text);
}

static void a_twin_on_btrfs_is_not_taken_for_the_file_of_another_user(void **state)
{
	struct file_table *t = file_table_new();
	struct mapped_file *theirs, *own;
	struct stat st;
	bool is_new;

	(void)state;
	is_btrfs = true;
	assert_int_equal(stat(folder, &st), 0);
	theirs = map(t, makedev(0, 4000), 1000, "theirs", &is_new);
	assert_true(is_new);
	expect_text(theirs, "theirs\n");
	own = map(t, makedev(0, 4000), 0, "own", &is_new);
	assert_true(is_new);
	expect_text(own, "own\n");
	assert_ptr_equal(map(t, makedev(0, 4000), 0, "own", &is_new), own);
	assert_false(is_new);
	assert_ptr_equal(map(t, makedev(0, 4000), 1000, "theirs", &is_new), theirs);
	assert_false(is_new);
	assert_int_equal(own->dev, st.st_dev); /* names are kept by it */
	assert_int_equal(own->ino, TWIN_INODE);
	file_table_release(t, own, 1);
	own = map(t, makedev(0, 4000), 0, "own", &is_new);
	assert_true(is_new);
	expect_text(own, "own\n");
	file_table_free(t);
}

static void a_file_of_another_file_system_is_there_once_for_all_users(void **state)
{
	struct file_table *t = file_table_new();
	struct mapped_file *theirs;
	struct stat st;
	bool is_new;

	(void)state;
	is_btrfs = false;
	assert_int_equal(stat(folder, &st), 0);
	theirs = map(t, st.st_dev, 1000, "theirs", &is_new);
	expect_text(theirs, "theirs\n");
	assert_ptr_equal(map(t, st.st_dev, 0, "theirs", &is_new), theirs);
	assert_false(is_new);
	assert_int_equal(theirs->dev, st.st_dev);
	file_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_twin_on_btrfs_is_not_taken_for_the_file_of_another_user),
		cmocka_unit_test(a_file_of_another_file_system_is_there_once_for_all_users),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
