/*
 * Files that could not be opened when their first mapping was seen: a later mapping gets an entry
 * of its own as soon as it shows more, and none has them opened again and again.
 */
// BUILD: -Wl,--wrap=clock_gettime -Wl,--wrap=remote_open_link
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/mapped_file.h"

#define USER 1000

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_remote_open_link(pid_t pid, const char *name);
int __wrap_remote_open_link(pid_t pid, const char *name);

static time_t now_s;
static unsigned int nr_opens; /* each begins with the link of the mapping */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){ .tv_sec = now_s };
	return 0;
}

int __wrap_remote_open_link(pid_t pid, const char *name)
{
	nr_opens++;
	return __real_remote_open_link(pid, name);
}

static char folder[] = "/tmp/test_unopened_files.XXXXXX";
static struct stat there; /* of the file of that name */

static int make_files(void **state)
{
	(void)state;
	log_set_level(LOG_QUIET);
	return !mkdtemp(folder) || chdir(folder) || system("echo text >there") ||
	       stat("there", &there) || mkfifo("fifo", 0600);
}

static int remove_files(void **state)
{
	(void)state;
	return unlink("there") || unlink("fifo") || chdir("/") || rmdir(folder);
}

static int begin(void **state)
{
	now_s = 1000;
	nr_opens = 0;
	*state = file_table_new();
	return 0;
}

static int end(void **state)
{
	file_table_free(*state);
	return 0;
}

/* Nothing is mapped there any more: only the path leads to the file. */
static const struct file_mapping *mapping_at(const char *name)
{
	static struct file_mapping m;
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	m = (struct file_mapping){
		.pid = getpid(),
		.user = USER,
		.start = 0x1000,
		.end = 0x2000,
		.dev = there.st_dev,
		.ino = there.st_ino,
		.path = path,
	};
	return &m;
}

static struct mapped_file *map(struct file_table *t, const char *name, bool *ret_new)
{
	return file_table_add(t, mapping_at(name), ret_new);
}

/* Maps the file several times, and expects the entry that it has. */
static void map_often(struct file_table *t, const char *name, const struct mapped_file *expected)
{
	for (int i = 0; i < 20; i++) {
		bool is_new;

		assert_ptr_equal(map(t, name, &is_new), expected);
		assert_false(is_new);
	}
}

static void a_file_that_opens_for_a_later_mapping_gets_a_new_entry(void **state)
{
	struct mapped_file *first, *second;
	struct file_table *t = *state;
	bool is_new;

	assert_int_equal(rename("there", "elsewhere"), 0);
	first = map(t, "there", &is_new);
	assert_true(is_new);
	assert_int_equal(first->fd, -ENOENT);
	assert_int_equal(rename("elsewhere", "there"), 0);
	second = map(t, "there", &is_new);
	assert_true(is_new);
	assert_ptr_not_equal(second, first);
	assert_true(second->fd >= 0);
	assert_true(second->number != first->number);
	assert_int_equal(first->fd, -ENOENT); /* others may still map it */
	map_often(t, "there", second);
	assert_int_equal(file_table_size(t), 2);
}

static void another_file_with_the_inode_has_a_path_of_its_own(void **state)
{
	struct mapped_file *first, *second;
	struct file_table *t = *state;
	char path[128];
	bool is_new;

	first = map(t, "none", &is_new);
	assert_true(is_new);
	assert_int_equal(first->fd, -ENOENT);
	map_often(t, "none (deleted)", first);
	second = map(t, "other (deleted)", &is_new);
	assert_true(is_new);
	snprintf(path, sizeof(path), "%s/other", folder);
	assert_string_equal(second->path, path);
	snprintf(path, sizeof(path), "%s/none", folder);
	assert_string_equal(first->path, path);
	map_often(t, "other", second);
}

static void a_file_that_is_refused_is_rarely_tried(void **state)
{
	struct file_table *t = *state;
	struct mapped_file *file;
	bool is_new;

	file = map(t, "fifo", &is_new);
	assert_int_equal(file->fd, -EPERM);
	assert_int_equal(nr_opens, 1);
	map_often(t, "fifo", file);
	assert_int_equal(nr_opens, 1);
	now_s++;
	map_often(t, "fifo", file);
	assert_int_equal(nr_opens, 2);
	for (int i = 0; i < 160; i++) {
		now_s++;
		map_often(t, "fifo", file);
	}
	assert_in_range(nr_opens, 10, 16);
}

static void a_file_that_is_gone_is_tried_at_once_but_not_often(void **state)
{
	struct file_table *t = *state;
	struct mapped_file *file;
	unsigned int before;
	bool is_new;

	file = map(t, "none", &is_new);
	assert_int_equal(nr_opens, 1);
	map_often(t, "none", file);
	assert_in_range(nr_opens, 2, 5);
	before = nr_opens;
	now_s += 16;
	map_often(t, "none", file);
	assert_int_equal(nr_opens, before + 1);
}

static void a_memfd_that_became_runtime_code_is_not_tried(void **state)
{
	struct file_table *t = *state;
	struct mapped_file *code;
	bool is_new;

	code = file_table_add_memfd(t, mapping_at("none"), 42, &is_new);
	assert_true(is_new);
	assert_int_equal(code->kind, MODULE_JIT);
	now_s += 100;
	assert_ptr_equal(file_table_add_memfd(t, mapping_at("none"), 42, &is_new), code);
	assert_false(is_new);
	assert_int_equal(nr_opens, 1);
}

static void files_beyond_a_limit_are_not_tried(void **state)
{
	struct file_table *t = *state;
	struct mapped_file *file;
	bool is_new;

	for (pid_t pid = 1; !file_table_add_runtime(t, pid, USER, &is_new)->over_limit; pid++)
		assert_true(is_new);
	file = map(t, "there", &is_new);
	assert_int_equal(file->index, FILE_OVER_LIMIT);
	assert_false(is_new);
	now_s += 100;
	map_often(t, "there", file);
	assert_int_equal(nr_opens, 0);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(a_file_that_opens_for_a_later_mapping_gets_a_new_entry),
		WITH_TABLE(another_file_with_the_inode_has_a_path_of_its_own),
		WITH_TABLE(a_file_that_is_refused_is_rarely_tried),
		WITH_TABLE(a_file_that_is_gone_is_tried_at_once_but_not_often),
		WITH_TABLE(a_memfd_that_became_runtime_code_is_not_tried),
		WITH_TABLE(files_beyond_a_limit_are_not_tried),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
