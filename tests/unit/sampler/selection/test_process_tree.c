/* sampler/selection/process_tree.c: what was started, by looking at this process's own children. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/selection/process_tree.h"

#define NR_CHILDREN 5
#define NR_GRANDCHILDREN 3

/* A child that has children of its own; it says through `fd` that all of them are there. */
static pid_t start_family(int fd)
{
	pid_t pid = fork(), self = getpid();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < NR_GRANDCHILDREN; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self) /* it was killed before */
			_exit(0);
		for (;;)
			pause();
	}
	if (write(fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int count(void *context, pid_t pid)
{
	size_t *nr = context;

	assert_true(pid > 0 && pid != getpid());
	++*nr;
	return *nr == 2 ? -ESRCH : 0;
}

static void children_of_children_are_found_once(void **state)
{
	pid_t children[NR_CHILDREN];
	struct process_tree t = { 0 };
	size_t nr = 0;
	int fds[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < NR_CHILDREN; i++) {
		children[i] = start_family(fds[1]);
		assert_int_equal(read(fds[0], &byte, 1), 1);
	}
	process_tree_add_root(&t, getpid());
	process_tree_add_root(&t, getpid());
	assert_int_equal(t.nr_roots, 1);
	process_tree_follow(&t, count, &nr);
	assert_int_equal(nr, NR_CHILDREN * (1 + NR_GRANDCHILDREN));
	assert_int_equal(t.nr, 1 + nr);
	for (size_t i = 1; i < t.nr; i++)
		assert_true(t.members[i].start >= t.members[0].start);
	assert_int_equal(process_tree_look(&t), 0);
	process_tree_fini(&t);
	for (int i = 0; i < NR_CHILDREN; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

static void a_zombie_and_a_process_that_is_not_there_are_no_members(void **state)
{
	struct process_tree t = { 0 };
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	process_tree_add_root(&t, getpid());
	assert_int_equal(process_tree_look(&t), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	process_tree_add_root(&t, pid);
	assert_int_equal(t.nr_roots, 1);
	process_tree_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_of_children_are_found_once),
		cmocka_unit_test(a_zombie_and_a_process_that_is_not_there_are_no_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
