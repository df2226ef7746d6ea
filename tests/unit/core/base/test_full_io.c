/* Reads and writes that are cut short go on, and end with all bytes or with an error. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/full_io.h"

enum { SIZE = 1 << 20 }; /* more than a pipe holds */

static void *read_slowly(void *socket)
{
	static char part[777];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(*(int *)socket, part, sizeof(part))) > 0)
		sum += (size_t)n;
	return (void *)sum;
}

static void a_pipe_takes_all_of_it(void **state)
{
	char *data = calloc(1, SIZE);
	pthread_t reader;
	void *sum;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
	assert_int_equal(full_write(ends[1], data, SIZE), 0);
	close(ends[1]);
	assert_int_equal(pthread_join(reader, &sum), 0);
	assert_int_equal((size_t)sum, SIZE);
	close(ends[0]);
	free(data);
}

static void a_file_that_ends_early_is_an_error(void **state)
{
	int fd = memfd_create("full_io", MFD_CLOEXEC);
	char bytes[8] = "";

	(void)state;
	assert_int_equal(full_write_at(fd, "abcdef", 6, 2), 0);
	assert_int_equal(full_read_at(fd, bytes, 6, 2), 0);
	assert_string_equal(bytes, "abcdef");
	assert_int_equal(full_read_at(fd, bytes, 7, 2), -EBADMSG);
	assert_int_equal(full_read_at(fd, bytes, 0, 100), 0);
	close(fd);
}

static void errors_are_those_of_the_system(void **state)
{
	int full = open("/dev/full", O_WRONLY);
	char byte;

	(void)state;
	assert_int_equal(full_write(full, "x", 1), -ENOSPC);
	close(full);
	assert_int_equal(full_write(-1, "x", 1), -EBADF);
	assert_int_equal(full_write_at(-1, "x", 1, 0), -EBADF);
	assert_int_equal(full_read_at(-1, &byte, 1, 0), -EBADF);
}

static bool waits(int signal)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, signal);
}

static void a_pipe_whose_reader_was_killed_is_an_error_and_no_signal(void **state)
{
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(full_write_pipe(ends[1], "x", 1), 0);
	close(ends[0]);
	assert_int_equal(full_write_pipe(ends[1], "x", 1), -EPIPE);
	assert_int_equal(full_write_pipe(ends[1], "x", 1), -EPIPE);
	assert_false(waits(SIGPIPE));
	close(ends[1]);
	assert_int_equal(full_write_pipe(-1, "x", 1), -EBADF);
}

/* `sprof report | head` is to end without a message. */
static void any_other_write_without_a_reader_still_ends_the_process(void **state)
{
	int ends[2], status = 0;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	child = fork();
	if (!child) {
		signal(SIGPIPE, SIG_DFL);
		full_write_pipe(ends[1], "x", 1);
		full_write(ends[1], "x", 1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPIPE);
	close(ends[1]);
}

static void a_signal_that_waits_already_is_left_alone(void **state)
{
	int ends[2];
	sigset_t blocked, before;

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	raise(SIGPIPE);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(full_write_pipe(ends[1], "x", 1), -EPIPE);
	close(ends[1]);
	assert_true(waits(SIGPIPE));
	signal(SIGPIPE, SIG_IGN); /* discards it */
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pipe_takes_all_of_it),
		cmocka_unit_test(a_file_that_ends_early_is_an_error),
		cmocka_unit_test(errors_are_those_of_the_system),
		cmocka_unit_test(a_pipe_whose_reader_was_killed_is_an_error_and_no_signal),
		cmocka_unit_test(any_other_write_without_a_reader_still_ends_the_process),
		cmocka_unit_test(a_signal_that_waits_already_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
