/* core/base/proc_status.h: processes and threads in /proc, this one among them. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/proc_status.h"

/* The number of a process that has ended. */
static pid_t ended(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static bool lists(DIR *folder, pid_t id)
{
	bool found = false;
	pid_t next;

	while ((next = proc_next(folder)))
		found |= next == id;
	proc_close(folder);
	return found;
}

static void folders_list_what_is_alive(void **state)
{
	(void)state;
	assert_true(lists(proc_processes(), getpid()));
	assert_true(lists(proc_threads(getpid()), getpid()));
	assert_null(proc_threads(ended()));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(proc_next(NULL), 0);
}

static void text_is_cut_to_the_buffer(void **state)
{
	char text[64], cut[4];

	(void)state;
	assert_int_equal(proc_text(text, sizeof(text), "/proc/%d/stat", (int)getpid()), 0);
	assert_int_equal(atoi(text), getpid());
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_int_equal(proc_text(cut, sizeof(cut), "/proc/%s/cmdline", "self"), 0);
	assert_int_equal(strlen(cut), sizeof(cut) - 1);
	assert_int_equal(proc_text(cut, sizeof(cut), "/proc/%d/stat", (int)ended()), -ESRCH);
	assert_string_equal(cut, "");
}

static void a_name_ends_at_its_newline(void **state)
{
	char name[17];

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a thread"), 0);
	assert_true(proc_name(getpid(), getpid(), name, sizeof(name)));
	assert_string_equal(name, "a thread");
	assert_false(proc_name(ended(), ended(), name, sizeof(name)));
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_list_what_is_alive),
		cmocka_unit_test(text_is_cut_to_the_buffer),
		cmocka_unit_test(a_name_ends_at_its_newline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
