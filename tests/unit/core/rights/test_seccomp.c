/*
 * core/rights/seccomp.c: what a filtered process can still do, each tried in a process of its own.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/rights/seccomp.h"

/* Runs fn in a child; returns its exit status, or minus the signal that ended it. */
static int in_child(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	assert_true(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int has_filters(void)
{
	return seccomp_allow_reading() ? 1 : 0;
}

static void *nothing(void *context)
{
	return context;
}

/* Returns the number of the step that failed, or 0. */
static int read_and_compute(void)
{
	pthread_t thread;
	char byte;
	int fd;

	if (seccomp_allow_reading())
		return 1;
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &byte, 1) != 1)
		return 2;
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return 3;
	free(malloc(64u << 20));
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

#ifndef __SANITIZE_ADDRESS__
static int reach_out(void)
{
	char *argv[] = { (char *)"true", NULL };
	pid_t parent = getppid();

	if (seccomp_allow_reading())
		return 1;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		return 2;
	if (!ptrace(PTRACE_SEIZE, parent, 0, 0) || errno != ENOSYS)
		return 3;
	if (!kill(parent, 0))
		return 4;
	if (ioctl(0, TIOCSTI, "x") == 0 || errno != ENOTTY)
		return 5;
	if (syscall(SYS_clone, 17 /* SIGCHLD: a process */, 0, 0, 0, 0) >= 0)
		return 6;
	execv("/bin/true", argv);
	return errno == ENOSYS ? 0 : 7;
}
#endif

static int list_of_one(void)
{
	static const int allowed[] = { SYS_exit_group };

	if (seccomp_allow(allowed, 1))
		return 1;
	return syscall(SYS_getppid) == -1 && errno == ENOSYS ? 0 : 2;
}

static void skip_without_filters(void)
{
#ifdef __SANITIZE_ADDRESS__
	print_message("the sanitizer needs system calls that the filters refuse\n");
	skip();
#endif
	if (in_child(has_filters)) {
		print_message("this kernel has no seccomp filters\n");
		skip();
	}
}

static void a_reader_can_read_and_start_threads(void **state)
{
	(void)state;
	skip_without_filters();
	assert_int_equal(in_child(read_and_compute), 0);
}

#ifndef __SANITIZE_ADDRESS__ /* the filter for readers is not installed there */
static void a_reader_reaches_no_other_process_and_no_network(void **state)
{
	(void)state;
	skip_without_filters();
	assert_int_equal(in_child(reach_out), 0);
}
#endif

static void what_is_not_listed_fails(void **state)
{
	(void)state;
	skip_without_filters();
	assert_int_equal(in_child(list_of_one), 0);
}

static void a_list_that_does_not_fit_is_refused(void **state)
{
	static const int many[300];

	(void)state;
	assert_int_equal(seccomp_allow(many, 300), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_can_read_and_start_threads),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(a_reader_reaches_no_other_process_and_no_network),
#endif
		cmocka_unit_test(what_is_not_listed_fails),
		cmocka_unit_test(a_list_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
