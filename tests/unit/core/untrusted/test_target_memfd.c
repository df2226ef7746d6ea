/* Of the files of another process only memfds are opened. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/untrusted/target_memfd.h"

static void memfd_is_opened_for_writing(void **state)
{
	int theirs = memfd_create("test", MFD_CLOEXEC), ours;
	char byte = 0;

	(void)state;
	assert_int_equal(ftruncate(theirs, 4096), 0);
	ours = target_memfd_open(getpid(), theirs);
	assert_true(ours >= 0);
	assert_int_not_equal(ours, theirs);
	assert_int_equal(pwrite(ours, "x", 1, 100), 1);
	assert_int_equal(pread(theirs, &byte, 1, 100), 1);
	assert_int_equal(byte, 'x');
	close(ours);
	close(theirs);
}

static void other_file_is_refused(void **state)
{
	const char *const paths[] = { "/proc/self/exe", "/dev/null", "/", "/dev/shm",
				      "/proc/self/maps" };
	int pipes[2];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		assert_int_equal(target_memfd_open(getpid(), fd), -EPERM);
		close(fd);
	}
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(target_memfd_open(getpid(), pipes[0]), -EPERM);
	close(pipes[0]);
	close(pipes[1]);
}

static void number_that_is_none_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(target_memfd_open(getpid(), -1), -ENOENT);
	assert_int_equal(target_memfd_open(getpid(), 1 << 20), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memfd_is_opened_for_writing),
		cmocka_unit_test(other_file_is_refused),
		cmocka_unit_test(number_that_is_none_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
