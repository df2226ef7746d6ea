/*
 * sampler/target/launch.c: programs that start, wait before their exec, are cancelled or not found.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/target/launch.h"

#define ARGV(...) ((char *const *)(const char *const[]){ __VA_ARGS__, NULL })

static int status_of(const struct launch *l)
{
	int status;

	assert_int_equal(waitpid(l->pid, &status, 0), l->pid);
	return status;
}

static void a_program_runs_once_it_may(void **state)
{
	char path[] = "/tmp/sprof-launch-XXXXXX";
	char *const *argv = ARGV("sh", "-c", "echo ran >\"$0\"; exit 7", path);
	struct launch l;
	struct stat st;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(launch_prepare(&l, argv), 0);
	usleep(50000);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0); /* not yet */
	assert_int_equal(launch_go(&l), 0);
	assert_int_equal(WEXITSTATUS(status_of(&l)), 7);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	unlink(path);
}

static void a_cancelled_program_never_runs(void **state)
{
	char path[] = "/tmp/sprof-launch-XXXXXX";
	char *const *argv = ARGV("rm", path);
	struct launch l;

	(void)state;
	close(mkstemp(path));
	assert_int_equal(launch_prepare(&l, argv), 0);
	launch_cancel(&l);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(waitpid(l.pid, NULL, WNOHANG), -1); /* it was reaped */
	unlink(path);
}

static void exec_says_why_it_failed(void **state)
{
	char *const *none = ARGV("/no/such/program"), *const *folder = ARGV("/tmp");
	struct launch l;

	(void)state;
	assert_int_equal(launch_prepare(&l, none), 0);
	assert_int_equal(launch_go(&l), -ENOENT);
	assert_int_equal(launch_prepare(&l, folder), 0);
	assert_int_equal(launch_go(&l), -EACCES);
}

static void on_signal(int number)
{
	(void)number;
}

static void the_child_does_not_keep_our_handlers(void **state)
{
	char *const *argv = ARGV("true");
	struct sigaction a = { .sa_handler = on_signal }, was;
	struct launch l;
	int status;

	(void)state;
	sigaction(SIGINT, &a, &was);
	assert_int_equal(launch_prepare(&l, argv), 0);
	assert_int_equal(kill(l.pid, SIGINT), 0);
	status = status_of(&l);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	assert_int_equal(launch_go(&l), 0); /* the parent survives SIGPIPE */
	sigaction(SIGINT, &was, NULL);
}

static void what_is_ignored_stays_ignored(void **state)
{
	char *const *argv = ARGV("sh", "-c", "kill -HUP $$; exit 3");
	struct sigaction a = { .sa_handler = SIG_IGN }, was;
	struct launch l;

	(void)state;
	sigaction(SIGHUP, &a, &was);
	assert_int_equal(launch_prepare(&l, argv), 0);
	assert_int_equal(launch_go(&l), 0);
	assert_int_equal(WEXITSTATUS(status_of(&l)), 3);
	sigaction(SIGHUP, &was, NULL);
}

static void names_are_searched_as_exec_would(void **state)
{
	char *path = strdup(getenv("PATH")), *found;
	char file[] = "/tmp/sprof-launch-XXXXXX";

	(void)state;
	close(mkstemp(file));
	setenv("PATH", "/usr/bin:/bin", 1); /* the tester's own may name folders of somebody else */
	assert_int_equal(launch_find("/bin/sh", &found), 0);
	assert_string_equal(found, "/bin/sh");
	free(found);
	assert_int_equal(launch_find("sh", NULL), 0);
	assert_int_equal(launch_find("/bin/sh", NULL), 0);
	assert_int_equal(launch_find("no-such-program", NULL), -ENOENT);
	assert_int_equal(launch_find("/no/such/program", NULL), -ENOENT);
	assert_int_equal(launch_find("", NULL), -ENOENT);
	assert_int_equal(launch_find("/tmp", NULL), -EACCES);
	assert_int_equal(launch_find(file, NULL), -EACCES); /* not executable */
	setenv("PATH", "/tmp:/nowhere", 1);
	assert_int_equal(launch_find(strrchr(file, '/') + 1, NULL), -EACCES);
	assert_int_equal(launch_find("sh", NULL), -ENOENT);
	unsetenv("PATH");
	assert_int_equal(launch_find("sh", NULL), 0);
	setenv("PATH", path, 1);
	unlink(file);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_runs_once_it_may),
		cmocka_unit_test(a_cancelled_program_never_runs),
		cmocka_unit_test(exec_says_why_it_failed),
		cmocka_unit_test(the_child_does_not_keep_our_handlers),
		cmocka_unit_test(what_is_ignored_stays_ignored),
		cmocka_unit_test(names_are_searched_as_exec_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
